package audit

import (
	"slices"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/survey"
)

func pruneDisabled() rule {
	return rule{Rule{
		ID: "prune-disabled", Severity: Info,
		Title: "an app deletes nothing that leaves Git",
		Reason: "What is removed from Git, or renamed in it, stays in the cluster and runs on: old workers that take jobs from the queue, a " +
			"Service that sends traffic to both versions, an HPA that moves the count of its successor. Nobody is told, since nobody compares " +
			"what Git does not name any more.",
		Remedy: "Where it is not meant: spec.prune: true in Flux, spec.syncPolicy.automated.prune: true in Argo CD. What must stay in any case " +
			"is marked by itself: kustomize.toolkit.fluxcd.io/prune: disabled, or argocd.argoproj.io/sync-options: Prune=false. truce shows " +
			"beforehand what it would delete.",
		Source: "Flux Kustomization spec.prune; Argo CD spec.syncPolicy.automated.prune and the sync option Prune=false",
	}, func(j *judgement) []Finding {
		var out []Finding
		for i := range j.survey.Units {
			u := &j.survey.Units[i]
			at, says := unpruned(u)
			if at == "" {
				continue
			}
			out = append(out, j.ruleFinding(u, at, u.Name()+" "+says+": what leaves Git stays in the cluster", "set "+onAgain(at)+", if that is not meant"))
		}
		return out
	}}
}

// unpruned says by which field the app leaves what it no longer describes; empty if it does not. An app that is only synced when somebody
// asks for it is pruned when somebody asks for that.
func unpruned(u *survey.Unit) (at, says string) {
	switch {
	case u.Dialect == survey.Flux && u.Resource.At("spec", "prune") == false:
		return "spec.prune", "says prune: false"
	case u.Dialect == survey.ArgoCD && u.App.Rollout == app.Automatic && u.App.Prune != app.PruneDelete:
		if options, _ := u.Resource.At("spec", "syncPolicy", "syncOptions").([]any); slices.Contains(options, any("Prune=false")) {
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
