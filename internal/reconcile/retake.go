package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// RetakeBaselines takes note that the CRD of a kind has changed: another default, another list type, a field less. What the server makes of
// Git's object may be something else now, so every baseline of the kind is taken again, and what an apply could not
// restore may be tried again. It returns the objects that Object should be called for; how fast is the caller's choice.
func (e *Engine) RetakeBaselines(group, kind string) []object.ID {
	var out []object.ID
	for _, r := range e.objectsWhere(func(r *managedObject) bool { return r.id.Group == group && r.id.Kind == kind }) {
		if r.doubtBaseline() {
			out = append(out, r.id)
		}
	}
	slices.SortFunc(out, object.ID.Compare)
	return out
}

// doubtBaseline reports whether the record was not doubted before.
func (r *managedObject) doubtBaseline() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.forced && r.baseline.Doubted() {
		return false
	}
	r.baseline, r.forced = r.baseline.WithDoubt(), true
	return true
}

// KindsInGroup returns the types of an API group that apps name objects of.
func (e *Engine) KindsInGroup(group string) []object.GVK {
	found := map[object.GVK]bool{}
	for _, r := range e.objectsWhere(func(r *managedObject) bool { return r.id.Group == group }) {
		r.mu.Lock()
		found[r.gvk()] = true
		r.mu.Unlock()
	}
	return slices.Collect(maps.Keys(found))
}

// OnKindUnserved takes note that the server does not serve a type any more: the next run of an app that names objects of it looks at
// each of them, and says so. It returns those apps.
func (e *Engine) OnKindUnserved(gvk object.GVK) []app.Key {
	return e.ownersWhere(func(r *managedObject) bool {
		if r.gvk() == gvk && r.pending == nil {
			r.pending = newPendingEvent(live.Event{GVK: gvk, ID: r.id, Gone: true, Depth: live.Metadata})
		}
		return r.gvk() == gvk
	})
}

// AppsWithProblems returns the apps that could not bring an object of a type in line.
func (e *Engine) AppsWithProblems(gvk object.GVK) []app.Key {
	return e.ownersWhere(func(r *managedObject) bool { return r.gvk() == gvk && r.problem != "" })
}

// isTroubled reports whether the object could not be brought in line when it was judged last.
func (e *Engine) isTroubled(id object.ID) bool {
	r := e.lookup(id)
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problem != ""
}

// isDescribed reports whether it is known, beyond a digest, what Git wants of the object.
func (e *Engine) isDescribed(id object.ID) bool {
	r := e.lookup(id)
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.isDescribed() && r.text.Known()
}

// enqueueOwner asks for a run of the object's app.
func (e *Engine) enqueueOwner(id object.ID) {
	if r := e.lookup(id); r != nil {
		e.queue.EnqueueApp(r.ownedBy())
	}
}

// ownersWhere returns the apps of the records for which is holds; it is called with the record locked.
func (e *Engine) ownersWhere(is func(*managedObject) bool) []app.Key {
	found := map[app.Key]bool{}
	for _, r := range e.objectsWhere(func(*managedObject) bool { return true }) {
		r.mu.Lock()
		if r.state.isDescribed() && is(r) {
			found[r.owner] = true
		}
		r.mu.Unlock()
	}
	return slices.Collect(maps.Keys(found))
}

// objectsWhere returns the records for which is holds; it may look at their ids alone.
func (e *Engine) objectsWhere(is func(*managedObject) bool) []*managedObject {
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []*managedObject
	for _, r := range e.objects {
		if is(r) {
			out = append(out, r)
		}
	}
	return out
}

// retake replaces a doubted baseline. It is about what was sent, so that what differs from it is drift and not what Git
// has changed since; until the new one is known, the old one stays.
func (w *objectReconcile) retake(ctx context.Context, in decide.Input) (compare.Baseline, error) {
	sent := w.snap.desired
	if w.snap.previous != nil && w.app.Policy.Mode == policy.Enforce {
		sent = w.snap.previous
	}
	b, err := w.predict(ctx, in, in.WithoutCeded(sent))
	switch {
	case err == nil:
		w.reopen()
		return b, nil
	case errors.Is(err, apply.ErrStale):
	case w.snap.state.isChanged() && w.app.Policy.Mode == policy.Enforce: // the server may refuse what Git named before, which is why Git names it no more
		return w.snap.baseline, nil
	default:
		w.complain(err)
	}
	return b, err
}

// reopen forgets which fields an apply could not restore: the dry run has just shown what one would leave.
func (w *objectReconcile) reopen() {
	w.managed.mu.Lock()
	defer w.managed.mu.Unlock()
	w.managed.memory = w.managed.memory.WithoutStuck()
	w.snap.memory = w.managed.memory
}

// complain keeps a problem that no run has met, and has the app say it.
func (w *objectReconcile) complain(err error) {
	r := w.managed
	r.mu.Lock()
	first := r.problem == ""
	r.problem = w.snap.sensitive.Message(err.Error())
	r.mu.Unlock()
	if first {
		w.engine.queue.EnqueueApp(w.snap.owner)
	}
}
