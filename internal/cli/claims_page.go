package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/claim"
)

//go:generate go test . -run ^TestThePageOfClaimsIsInStep$ -update

const claimsHead = `<!-- Made from internal/decide/claim/catalogue.yaml by go generate ./internal/cli. Change it there. -->

# Claims: who rightly writes what

Git writes the fields that it names, unless another controller has a standing claim to one of them. This page lists the writers that truce
knows: by which evidence it recognises each, which fields they are, and what it does about them. ` + "`truce claims`" + ` prints the same list,
` + "`truce claims --explain ID`" + ` one entry, and ` + "`truce claims --live`" + ` the claimants that a cluster has.

## How a claim is known

| certainty | evidence |
|---|---|
| declared | an object states the intent (an HPA names the workload), or the API itself works so |
| annotated | the object in question bears a mark that asks for it |
| named | a field manager of that name has written the field; names can be chosen, so this is the weakest |

Of two claims to one field the more certain one is told. Two declared ones that are not made to go together (two HPAs on one Deployment) are
ceded to once, and told as a note: each undoes what the other does. A claimant that another one has made (KEDA's HPA) is no second one. A
claimant whose target does not exist claims nothing; one that stands still (an HPA without metrics) keeps its claim, and a note says why. A
claim ends when the claimant is gone from Git and from the cluster.

## What truce does

| do | meaning |
|---|---|
| cede | Git lets go of the fields while the claim holds: they are handed over, at the value that they have |
| merge | the keys lie in an atomic field: Git's keys are enforced, this writer's are kept |
| allow | Git's word counts where it names the fields; where it does not, they are no drift |
| none | no right at all: the writer is known, so that messages can name it |

A number that is moved has a least and a greatest value. A new object starts with the last value that is remembered, else Git's, else the
least, within the two. At 0, where the least is more, somebody has switched the claimant off: that is a pause, held and not corrected
(` + "`truce.dev/pause: correct`" + ` ends it). Claimants that write 0 themselves are never paused by it.

A placeholder in Git (` + "`caBundle: Cg==`" + `) stands for no value: it is not sent.

## Entries of your own

In a file (` + "`truce controller --claims-file mine.yaml`" + `, ` + "`truce claims --claims-file mine.yaml`" + ` checks it), or at run time in the
ConfigMap ` + "`truce-claims`" + ` in the controller's namespace (the first ` + "`--namespace`" + `, where there is one), each of its keys a file. An entry with the id of one below replaces it; ` + "`off: true`" + ` takes
it out. An entry that is wrong is refused with its line, and what held before holds on.

` + "```yaml" + `
claims:
- id: matchmaker
  who: our matchmaker
  evidence:
  - object: Matchmaker.example.org      # Kind.group of the claimant
    versions: [v1]                      # the versions to read it at, the best first
    refers: spec.targetRef              # {apiVersion, kind, name} of whom it writes to
  on: [GameServer.example.org]          # only objects of these kinds
  paths: [spec.replicas]
  do: cede
  count: {min: spec.room.min, least: 1, max: spec.room.max}
  text: It scales game servers.
` + "```" + `

A path names fields: ` + "`spec.replicas`, `webhooks[*].clientConfig.caBundle`, `containers[name=web].image`, `metadata.annotations[\"example.com/*\"]`" + `. In
brackets ` + "`*`" + ` stands for any text. A kind is ` + "`Kind.group`, `Kind`" + ` for the core group, ` + "`*`" + ` for any.

| evidence | means |
|---|---|
| ` + "`object`, `versions`" + ` with ` + "`refers`" + ` | an object of that kind refers to it; ` + "`to`" + ` is the kind where the reference names none |
| … with ` + "`names`, `to`" + ` | … names it by its name alone, at one of the paths; ` + "`to`" + ` is the kind of what is named |
| … with ` + "`namespace: true`" + ` | … rules all objects of its namespace, but for those in ` + "`except`" + ` |
| … with ` + "`when: [{path, in, not}]`" + ` | only while its fields say so |
| … with ` + "`acts`, `resting`" + ` | a condition of these types that is False says that it stands still, unless for one of these reasons |
| ` + "`owner`" + ` | the object is made by one of that kind (its controller in ` + "`ownerReferences`" + `) |
| ` + "`annotation`, `label`, `value`" + ` | the object bears it, in Git or live |
| ` + "`manager`, `operation`, `subresource`" + ` | such an entry of ` + "`managedFields`" + ` owns the field |
| ` + "`field`, `in`" + ` | a field of the object is there, with one of these values |
| ` + "`placeholder: true`" + ` | Git names the field with one of ` + "`placeholders`" + ` |
| ` + "`grown: true`" + ` | live holds a greater quantity than Git |
| ` + "`webhook`" + ` | a mutating webhook or policy of that name matches the object, and the answer to truce's own apply holds another value than was sent |
| ` + "`always: true`" + ` | the kind alone; not for ` + "`cede`" + ` |

An annotation or a manager's name can be put there by whoever may write to the object: such a claim takes fields out of Git's hands, and is shown
wherever the object is shown.
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
