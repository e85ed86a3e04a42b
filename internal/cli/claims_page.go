package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/claim"
)

//go:generate go test . -run ^TestThePageOfClaimsIsInStep$ -update

const claimsHead = `<!-- Made from internal/decide/claim/catalogue.yaml by go generate ./internal/cli. Change it there. -->

# Claims

    truce claims                 # the list of this page
    truce claims --explain hpa   # one entry
    truce claims --live -A       # the claimants in a cluster

Git owns the fields that it names, unless another controller has a standing claim to one of them. This page lists the controllers that truce
knows: the evidence by which it recognises each, the fields, and what truce does about them.

## Evidence

| certainty | evidence |
|---|---|
| declared | an object states the intent (an HPA names the workload), or the API itself works so |
| annotated | the object has an annotation or label that asks for it |
| named | a field manager of that name has written the field; names can be chosen, so this is the weakest |

* Of two claims to one field the more certain one counts.
* Two declared claims to one field (two HPAs on one Deployment) are both ceded to, with a note: each undoes the other's changes. An HPA that KEDA created
  is not a second claimant.
* A claimant whose target does not exist claims nothing. A claimant that has stopped (an HPA without metrics) keeps its claim, and a note gives the reason.
* A claim ends when the claimant is gone from Git and from the cluster.

## What truce does

| do | meaning |
|---|---|
| cede | truce stops applying the fields while the claim holds, and hands them over at their live values |
| merge | the keys, or list items, are in an atomic field: Git's are enforced, this writer's are kept |
| allow | Git counts for the fields that it names; others are no drift |
| none | no claim: the writer is known, so that messages can name it |

* **Counts** have a minimum and a maximum. A new object starts with the last known count, else Git's, else the minimum, within the two.
* **A count of 0**, if the minimum is more, is a pause: held, and not corrected (` + "`truce.dev/pause: correct`" + ` ends it). It is no pause for claimants that write
  0 themselves.
* **A placeholder in Git** (` + "`caBundle: Cg==`" + `) stands for no value: truce does not send it.

## Entries of your own

    truce claims --claims-file mine.yaml       # check a file
    truce controller --claims-file mine.yaml   # use it

At run time: the ConfigMap ` + "`truce-claims`" + ` in the namespace of the controller's own state (` + "`--runtime-namespace`" + `, else the first ` + "`--namespace`" + `, else its own).
Each of its keys is a file. An entry with the id of one below replaces it; ` + "`off: true`" + ` removes it. A wrong entry is refused with its line, by the Event ` + "`ClaimsRefused`" + ` of the ConfigMap, and the previous claims stay in force. They also do until the
claimants of the new ones have been listed. A controller that starts, or takes over, while the ConfigMap has a wrong entry does not know the previous claims: it reconciles nothing until the ConfigMap is corrected or deleted.

` + "```yaml" + `
claims:
- id: matchmaker
  who: our matchmaker
  evidence:
  - object: Matchmaker.example.org      # Kind.group of the claimant
    versions: [v1]                      # the versions to read it at, the preferred first
    refers: spec.targetRef              # {apiVersion, kind, name} of the object that it writes to
  on: [GameServer.example.org]          # only objects of these kinds
  paths: [spec.replicas]
  do: cede
  count: {min: spec.room.min, least: 1, max: spec.room.max}
  text: It scales game servers.
` + "```" + `

A path names fields: ` + "`spec.replicas`, `webhooks[*].clientConfig.caBundle`, `containers[name=web].image`, `metadata.annotations[\"example.com/*\"]`" + `. In
brackets ` + "`*`" + ` stands for any text, and ` + "`$items`" + ` (` + "`spec.http[name=$items].route[*].weight`" + `) for each name that the claimant has at ` + "`items`" + `. A kind is ` + "`Kind.group`, `Kind`" + ` for the core group, ` + "`*`" + ` for any.

| evidence | means |
|---|---|
| ` + "`object`, `versions`" + ` with ` + "`refers`" + ` | an object of that kind refers to it; ` + "`to`" + ` is the kind where the reference names none |
| … with ` + "`names`, `to`" + ` | … names it by its name alone, at one of the paths; ` + "`to`" + ` is the kind of what is named |
| … with ` + "`items`" + ` | … names there the list items that it writes to: ` + "`$items`" + ` in ` + "`paths`" + `. Where it names none, all items are ceded, and none is kept by ` + "`merge`" + ` |
| … with ` + "`namespace: true`" + ` | … claims all objects of its namespace, except those in ` + "`except`" + ` |
| … with ` + "`when: [{path, in, not}]`" + ` | only while its fields say so |
| … with ` + "`acts`, `resting`" + ` | a condition of these types that is False shows that it has stopped, unless for one of these reasons |
| ` + "`owner`" + ` | an object of that kind created it (its controller in ` + "`ownerReferences`" + `) |
| ` + "`annotation`, `label`, `value`" + ` | the object has it, in Git or live |
| ` + "`manager`, `operation`, `subresource`" + ` | such an entry of ` + "`managedFields`" + ` owns the field |
| ` + "`field`, `in`" + ` | a field of the object is there, with one of these values |
| ` + "`placeholder: true`" + ` | Git names the field with one of ` + "`placeholders`" + ` |
| ` + "`grown: true`" + ` | live holds a greater quantity than Git |
| ` + "`webhook`" + ` | a mutating webhook or policy of that name matches the object, and the answer to truce's own apply has another value than was sent |
| ` + "`always: true`" + ` | the kind alone; not for ` + "`cede`" + ` |

A user who may write to the object can set an annotation or choose a manager's name. Such a claim cedes fields, so truce shows it wherever it shows the object.
`

// claimsPage prints the catalogue as docs/claims.md.
func claimsPage(w io.Writer, all []claim.Entry) error {
	var b strings.Builder
	b.WriteString(claimsHead)
	for _, family := range entryHeadings(all) {
		fmt.Fprintf(&b, "\n## %s\n", family)
		for _, e := range all {
			if e.Family == family {
				entryPage(&b, e)
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func entryPage(b *strings.Builder, e claim.Entry) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", e.ID, e.Text)
	row := func(label string, values ...string) {
		if len(values) > 0 {
			fmt.Fprintf(b, "- %s: %s\n", label, strings.Join(values, "; "))
		}
	}
	row("who", e.Who)
	row("do", string(e.Do))
	row("evidence", evidenceWords(e)...)
	row("on", codeList(kindNames(e)))
	row("fields", codeList(pathNames(e)))
	row("values", countWords(e)...)
	if len(e.Stand) > 0 {
		row("placeholders", codeList(quoteAll(e.Stand)))
	}
	if len(e.Over) > 0 {
		row("goes over", codeList(e.Over))
	}
	row("known from", e.Knowledge...)
}

func codeList(list []string) string { return "`" + strings.Join(list, "`, `") + "`" }

func quoteAll(list []string) (out []string) {
	for _, s := range list {
		out = append(out, fmt.Sprintf("%q", s))
	}
	return out
}
