package reconcile

import (
	"context"
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// answered returns the baseline that the server's answer to an apply of the body gives.
func (w *objectReconcile) answered(in decide.Input, body, answer object.Object, owners []ownership.Entry) compare.Baseline {
	return w.result(in, body, answer, owners).Baseline(w.engine.Hasher)
}

// result is what the server made of the body, of which the ceded paths are not Git's.
func (w *objectReconcile) result(in decide.Input, body, answer object.Object, owners []ownership.Entry) compare.ApplyResult {
	return compare.ApplyResult{
		Sent: body, Result: answer, Owners: owners, Native: desired.IsBuiltInGroup(w.snap.gvk.Group), Desired: w.snap.desired, Withheld: in.CededPaths(),
	}
}

// sentBody is what the plan's last apply sent.
func (w *objectReconcile) sentBody() object.Object {
	for _, s := range slices.Backward(w.plan.Steps) {
		if s.Verb == decide.Apply || s.Verb == decide.Create {
			return s.Body
		}
	}
	return nil
}

// mutators looks up which webhooks and policies may have changed the object.
func (w *objectReconcile) mutators(ctx context.Context) mutation.Mutators {
	m := mutation.Mutators{Unread: "truce does not read them here"}
	if w.engine.Admission == nil {
		return m
	}
	var err error
	m.All, err = w.engine.Admission.Mutators(ctx, w.snap.gvk, mutation.Written(w.snap.desired, w.live))
	m.Unread = ""
	if err != nil {
		m.Unread = redact.MaskText(err.Error())
	}
	return m
}

// AdmissionChanged takes note that the configuration of mutating admission has changed, or may have: what admission changed in the last
// apply of an object may be left alone by now. It returns the objects that Object should be called for; how fast is the caller's choice.
func (e *Engine) AdmissionChanged() []object.ID {
	var out []object.ID
	for _, r := range e.objectsWhere(func(*managedObject) bool { return true }) {
		if r.doubtMutated() {
			out = append(out, r.id)
		}
	}
	slices.SortFunc(out, object.ID.Compare)
	return out
}

// doubtMutated makes the next look at the object ask the server again what it makes of a field that admission changed. It reports whether
// there is such a field.
func (r *managedObject) doubtMutated() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.baseline.Mutated() {
		return false
	}
	r.baseline, r.forced = r.baseline.WithDoubt(), true
	return true
}
