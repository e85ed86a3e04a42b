package reconcile

import (
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// remember notes each correction. Where Git has not changed and the answer still differs from the baseline, the apply
// does not restore the field, and repeating it would be a fight with the API server itself.
func (w *objectReconcile) remember(base compare.Baseline, answer object.Object, owners []ownership.Entry) (fight.Memory, bool) {
	m := w.snap.memory
	if w.snap.state.isChanged() {
		return w.removed(w.overridden(m.WithoutStuck()), answer), false
	}
	left, err := compare.CompareObject(compare.Input{
		Desired: w.snap.desired, Live: answer, Owners: owners, Baseline: w.snap.baseline, Hasher: w.engine.Hasher,
		Withheld: w.plan.Withheld, Native: desired.IsBuiltInGroup(w.snap.gvk.Group), // sent as live had it: the baseline may have another value
	})
	stuck := false
	released := without(w.snap.withheld, w.input.CededPaths()) // the baseline has there what another had set
	m = w.removed(m, answer)
	for _, f := range w.plan.Findings {
		if f.Verdict != decide.Correct || f.Kind == compare.Added || w.isUnrestored(base, answer, f) {
			continue
		}
		path := field.PathString(f.Path)
		m = w.corrected(m, f)
		if err == nil && len(f.Path) > 0 && differs(left.Differences, f.Path) && !hasPart(released, f.Path) {
			v, _ := field.ValueAt(answer, f.Path)
			m, stuck = m.WithStuck(path, w.engine.Hasher.Value(v)), true
		}
	}
	return m, stuck
}

// isUnrestored reports whether an apply was no correction of a field, as admission has changed it in the answer: for the first time, or to what had been
// there before. Where admission had changed it before, and does again, its value is what drift is put back to.
func (w *objectReconcile) isUnrestored(base compare.Baseline, answer object.Object, f decide.Finding) bool {
	if !base.MutatedAt(f.Path) {
		return false
	}
	v, _ := field.ValueAt(answer, f.Path)
	return !w.snap.baseline.MutatedAt(f.Path) || f.LiveIs(v)
}

func differs(list []compare.Difference, p field.Path) bool {
	return slices.ContainsFunc(list, func(d compare.Difference) bool { return d.Path.Equals(p) })
}

// hasPart reports whether one of the paths is the field, or a part of it.
func hasPart(paths []field.Path, p field.Path) bool {
	return slices.ContainsFunc(paths, func(q field.Path) bool { return field.HasPrefix(q, p) })
}

// carries reports whether an apply has to send a claimant's value at p along: it is a part of an atomic field that Git names.
func (w *objectReconcile) carries(p field.Path) bool {
	whole, part := ownership.AtomicAncestor(w.owners, p)
	_, named := field.ValueAt(w.snap.desired, whole)
	return part && named && slices.ContainsFunc(w.input.Claims, func(c claim.Claim) bool { return c.Path.Equals(p) })
}
