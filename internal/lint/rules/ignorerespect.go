package rules

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/render/desired"
)

const remedyRespect = "add RespectIgnoreDifferences=true to spec.syncPolicy.syncOptions"

func ignoreNotRespected() rule {
	return rule{Rule{
		ID: "ignore-not-respected", Severity: Error, Fixable: true,
		Title: "an Application ignores a field that Git names, without RespectIgnoreDifferences",
		Reason: "spec.ignoreDifferences alone changes what Argo CD shows, and no more: the next sync, of whatever reason (a new commit, another " +
			"field that drifted, a person's click), writes Git's value over what the autoscaler or the webhook has put there. truce leaves an " +
			"ignored field out in every sync, with or without the option. The same holds for the annotation argocd.argoproj.io/" +
			"ignore-differences-json-pointers of an object; an Argo CD that is too old to know it does not even hide the field.",
		Remedy: "Take the field out of Git where it can be, which is firm in every tool. Else:\n\n" +
			"    spec:\n      syncPolicy:\n        syncOptions:\n        - RespectIgnoreDifferences=true\n\n" +
			"Argo CD then copies the live value into what it applies; with ServerSideApply=true that makes it a co-owner of the field.",
		Source: "Argo CD controller/sync.go (normalizeTargetResources); https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/#respect-ignore-difference-configs",
	}, func(j *checker) []Finding {
		var out []Finding
		for i := range j.discovery.Units {
			u := &j.discovery.Units[i]
			if u.Dialect == discover.ArgoCD && !respects(u) {
				out = append(out, j.hidden(u)...)
				out = append(out, j.hiddenByObjects(u)...)
			}
		}
		return out
	}}
}

// hidden finds what the rules of an Application only hide.
func (j *checker) hidden(u *discover.Unit) []Finding {
	var out []Finding
	for _, r := range u.App.Ignore {
		places, fields := j.namedIn(u, r)
		if len(fields) == 0 {
			continue
		}
		f := j.ruleFinding(u, r.Name, fmt.Sprintf("%s of %s only hides %s: every sync of Argo CD writes Git's value; truce leaves it out", r.Name, u.Name(), firstWords(fields)),
			remedyRespect)
		f.Others = places
		if u.App.Suspended {
			f.Severity = Info
		}
		out = append(out, f)
	}
	return out
}

// hiddenByObjects finds what annotations of an Application's objects only hide. One that cannot be read is refused, and reported elsewhere.
func (j *checker) hiddenByObjects(u *discover.Unit) []Finding {
	var out []Finding
	for k := range u.Objects {
		d := described{u, &u.Objects[k]}
		own, err := ignore.Rules(nil).On(d.object.Data)
		if err != nil || len(own) == 0 {
			continue
		}
		for _, p := range covered(own[0], d) {
			f := Finding{
				Unit: u.Name(), Object: d.id(), Path: p, Place: j.files.place(*u, *d.object, p),
				Message: fmt.Sprintf("%s only hides this: every sync of %s by Argo CD writes Git's value; truce leaves it out", own[0].Name, u.Name()),
				Remedy:  remedyRespect + " of " + u.Name(),
			}
			if u.App.Suspended {
				f.Severity = Info
			}
			out = append(out, f)
		}
	}
	return out
}

// namedIn lists the fields that Git names and the rule covers, and where the first of them stands.
func (j *checker) namedIn(u *discover.Unit, r ignore.Rule) (first []desired.Place, fields []string) {
	for k := range u.Objects {
		d := described{u, &u.Objects[k]}
		for _, p := range covered(r, d) {
			if first == nil {
				first = []desired.Place{j.files.place(*u, *d.object, p)}
			}
			fields = append(fields, fmt.Sprintf("%s of %s", field.PathString(p), d.id()))
		}
	}
	return first, fields
}

// firstWords lists the first few words.
func firstWords(words []string) string {
	const shown = 3
	if len(words) > shown {
		return strings.Join(words[:shown], ", ") + fmt.Sprintf(" and %d more", len(words)-shown)
	}
	return strings.Join(words, ", ")
}
