package rules

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func atomicSelector() rule {
	return rule{Rule: Rule{
		ID: "atomic-selector", Severity: Warning,
		Title: "a selector in Git that a controller completes",
		Reason: "A progressive delivery adds a label to the selector that Git names: rollouts-pod-template-hash, which distinguishes the stable pods from the new " +
			"ones. A selector is one atomic field. A server-side apply by force (Flux, Argo CD with ServerSideApply) of what Git names therefore " +
			"takes the label away, and traffic goes to both versions until the controller has put it back. So it is with the label by which Flagger " +
			"keeps a DaemonSet from all nodes, in the nodeSelector: without it the pods start. Truce enforces Git's labels and keeps " +
			"the controller's; an apply of the older form (Argo CD without ServerSideApply) leaves it, too.",
		Remedy: "Under Flux let the Service out of the reconciliation of its selector (kustomize.toolkit.fluxcd.io/ssa: IfNotPresent), or give it to the " +
			"controller's own resources; under Argo CD ignore /spec/selector with RespectIgnoreDifferences.",
		Source: "measured on kube-apiserver 1.37: a forced apply of the Git selector removes rollouts-pod-template-hash; " +
			"argoproj/argo-rollouts rollout/service.go; fluxcd/flagger pkg/canary/daemonset_controller.go",
	}, check: atomicSelectors}
}

func atomicSelectors(j *checker) []Finding {
	var out []Finding
	for by := range j.described() {
		for _, c := range j.catalogue.Read(by.data()) {
			out = append(out, j.completes(by, c)...)
		}
	}
	return out
}

func (j *checker) completes(by described, c claim.Claimant) []Finding {
	var out []Finding
	for _, d := range j.byName()[lookupName(c.Target)] {
		if j.reach().meet(by.unit, d.unit) != "" {
			out = append(out, j.completed(d, by, c)...)
		}
	}
	return out
}

// completed are the findings about atomic fields that Git names, and into which the claimant writes keys of its own.
func (j *checker) completed(d, by described, c claim.Claimant) []Finding {
	var out []Finding
	for _, got := range j.catalogue.On(claim.Subject{Desired: d.data()}, []claim.Claimant{c}) {
		if got.Do != claim.Merge || got.By != c.ID || !isWiped(d, got.Path) {
			continue
		}
		whole := got.Path[:len(got.Path)-1]
		f := j.finding(d, whole)
		f.Others = []desired.Place{j.whole(by)}
		f.Message = fmt.Sprintf("%s: %s adds %s to %s, which is one field: an apply by force of what Git names takes it away",
			d.called(), got.Who, *got.Path[len(got.Path)-1].FieldName, field.PathString(whole))
		f.Remedy = "leave the field to the controller that completes it"
		out = append(out, f)
	}
	return out
}

// isWiped reports whether the unit's tool takes away what stands beside Git's keys.
func isWiped(d described, p field.Path) bool {
	last := p[len(p)-1]
	if _, named := field.ValueAt(d.object.Data, p[:len(p)-1]); !named || last.FieldName == nil {
		return false
	}
	switch d.unit.Dialect {
	case discover.ArgoCD:
		i := d.ignoring(p)
		return d.unit.AppliesServerSide(d.object.Data) && (i.rule == "" || !i.respect)
	case discover.Flux:
		return !d.leftAlone() && d.ignoring(p).rule == ""
	default:
		return true
	}
}
