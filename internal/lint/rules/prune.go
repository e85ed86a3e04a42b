package rules

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/app"
)

func pruneDisabled() rule {
	return rule{Rule{
		ID: "prune-disabled", Severity: Info,
		Title: "an app deletes nothing that leaves Git",
		Reason: "What is removed from Git, or renamed in it, stays in the cluster and runs on: old workers that take jobs from the queue, a " +
			"Service that sends traffic to both versions, an HPA that moves the count of its successor. It is not reported, because no " +
			"controller compares what Git does not name any more.",
		Remedy: "Where it is not meant: spec.prune: true in Flux, spec.syncPolicy.automated.prune: true in Argo CD. What must stay in any case " +
			"is marked by itself: kustomize.toolkit.fluxcd.io/prune: disabled, or argocd.argoproj.io/sync-options: Prune=false. truce shows " +
			"beforehand what it would delete.",
		Source: "Flux Kustomization spec.prune; Argo CD spec.syncPolicy.automated.prune and the sync option Prune=false",
	}, func(j *checker) []Finding {
		var out []Finding
		for _, g := range j.unprunedByParent() {
			out = append(out, j.unprunedFinding(g))
		}
		return out
	}}
}

// keeping are apps of one parent that delete nothing, for the same reason.
type keeping struct {
	parent   string // the app or set that describes them; empty for none
	at, says string // see unpruned
	units    []*discover.Unit
}

// unprunedByParent gathers the apps that delete nothing. Those that nothing describes are together, too.
func (j *checker) unprunedByParent() []*keeping {
	var out []*keeping
	for i := range j.discovery.Units {
		u := &j.discovery.Units[i]
		at, says := unpruned(u)
		if at == "" {
			continue
		}
		parent := parentOf(u)
		same := slices.IndexFunc(out, func(k *keeping) bool { return k.parent == parent && k.at == at && k.says == says })
		if same < 0 {
			out = append(out, &keeping{parent: parent, at: at, says: says, units: []*discover.Unit{u}})
			continue
		}
		out[same].units = append(out[same].units, u)
	}
	return out
}

// parentOf is what describes an app: the set that makes it, else the first app that holds its custom resource, itself apart.
func parentOf(u *discover.Unit) string {
	if u.Made != nil {
		return placeOf(u.File, u.Line)
	}
	for _, by := range u.By {
		if by != u.Name() {
			return by
		}
	}
	return ""
}

func (j *checker) unprunedFinding(k *keeping) Finding {
	first := k.units[0]
	if len(k.units) == 1 {
		return j.ruleFinding(first, k.at, first.Name()+" "+k.says+": what leaves Git stays in the cluster", "set "+onAgain(k.at)+", if that is not meant")
	}
	from := "apps of " + k.parent
	switch {
	case first.Made != nil:
		from = "apps of one set"
	case k.parent == "":
		from = "apps that nothing here describes"
	}
	f := j.ruleFinding(first, k.at, fmt.Sprintf("%s, %s among them, delete nothing: each %s, and what leaves Git stays in the cluster", from, first.Name(), k.says),
		"set "+onAgain(k.at)+", if that is not meant")
	for _, u := range k.units[1:] {
		f.between(u.Name(), u.Resource.ID())
		if at := j.files.said(u, k.at); at != f.Place && !slices.Contains(f.Others, at) {
			f.Others = append(f.Others, at)
		}
	}
	return f
}

// unpruned says by which field the app leaves what it no longer describes; empty if it does not. An app that is only synced on
// request is pruned on request.
func unpruned(u *discover.Unit) (at, says string) {
	switch {
	case u.Dialect == discover.Flux && u.Resource.At("spec", "prune") == false:
		return "spec.prune", "says prune: false"
	case u.Dialect == discover.ArgoCD && u.App.Rollout != app.OnRequest && !u.App.Prunes():
		if u.App.PruneRestraint.Never {
			return "spec.syncPolicy.syncOptions", "has the sync option Prune=false"
		}
		return "spec.syncPolicy.automated.prune", "syncs automatically, without prune: true"
	}
	return "", ""
}

func onAgain(at string) string {
	if at == "spec.syncPolicy.syncOptions" {
		return "spec.syncPolicy.automated.prune: true and remove the option"
	}
	return at + ": true"
}
