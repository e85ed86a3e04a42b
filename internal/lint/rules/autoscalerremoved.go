package rules

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func autoscalerRemoved() rule {
	return rule{Rule{
		ID: "autoscaler-removed", Severity: Warning,
		Title: "an autoscaler is removed, and the manifest of its workload names a lower count than it may hold",
		Reason: "While the autoscaler is there its count holds. When it is deleted, the count that Git names is applied at once: a workload that " +
			"ran 8 pods under load runs 3. It is found when two revisions are compared (--base REV).",
		Remedy: "Look at how many pods run (kubectl get deployment), and write that number into the manifest in the same commit; lower it " +
			"afterwards, step by step. Or remove replicas from the manifest. " + handOver,
		Source: "measured on kube-apiserver 1.37.1: the deletion of an HPA changes no count, the next apply of Git does",
	}, func(j *checker) []Finding {
		if j.base == nil {
			return nil
		}
		before := j.scaledBefore()
		var out []Finding
		for d := range j.described() {
			if was, ok := before(d); ok {
				out = append(out, j.withoutScaler(d, was)...)
			}
		}
		return out
	}}
}

// scaledBefore finds what an autoscaler in Git scaled in the base, and nothing scales now. Where the base has several objects that it may
// have been, all of them were scaled.
func (j *checker) scaledBefore() func(described) (scaled, bool) {
	was, now := map[*desired.Object]scaled{}, map[*desired.Object]bool{}
	for _, s := range newChecker(*j.base).scaling().scaled {
		if s.by.object != nil {
			was[s.object] = s
		}
	}
	for _, s := range j.scaling().scaled {
		now[s.object] = true
	}
	inBase := j.inBase()
	return func(d described) (scaled, bool) {
		found := inBase(d)
		without := func(b described) bool { _, ok := was[b.object]; return !ok }
		if now[d.object] || len(found) == 0 || slices.ContainsFunc(found, without) {
			return scaled{}, false
		}
		return was[found[0].object], true
	}
}

// withoutScaler judges one workload whose autoscaler is gone.
func (j *checker) withoutScaler(d described, was scaled) []Finding {
	now := scaled{described: d, claim: was.claim}
	value, _ := field.ValueAt(d.object.Data, was.claim.Path)
	count, whole := field.WholeNumber(value)
	if !whole || count >= was.claim.Max || now.leftAlone() {
		return nil
	}
	if ignored := now.ignoring(was.claim.Path); ignored.rule != "" && ignored.respect {
		return nil
	}
	places, wins := j.files.places(d)(was.claim.Path)
	if wins < 0 {
		places, wins = []desired.Place{j.files.whole(*d.object)}, 0
	}
	return []Finding{{
		Unit: d.unit.Name(), Object: d.id(), Path: was.claim.Path, Place: places[wins],
		Message: fmt.Sprintf("%s is removed, which moved %s of %s %s: the count drops to %d at once, from what it holds then",
			was.claim.Name(), field.PathString(was.claim.Path), d.id(), boundsText(was.claim.Min, was.claim.Max), count),
		Remedy: fmt.Sprintf("write the count that runs instead of %d, or remove %s", count, dottedField(was.claim.Path)),
	}}
}
