package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/model/object"
)

// recreate deletes an object whose change the API server has refused, where Git asks for that. The next attempt creates it. It keeps the count
// of an autoscaler: the one of the object that is deleted is what the creation begins with.
func (w *objectReconcile) recreate(ctx context.Context, live object.Object, refused error) error {
	step, err := w.input.PlanRecreate(live, w.sentBody())
	if err != nil {
		return fmt.Errorf("%w; %w", refused, err)
	}
	if err := w.noteCounts(live); err != nil {
		return err
	}
	t := apply.Target{GVK: w.snap.gvk, ID: w.managed.id, UID: live.UID(), ResourceVersion: live.ResourceVersion()}
	_, err = apply.ExecuteStep(ctx, w.access.Writer, t, live, step)
	switch {
	case errors.Is(err, apply.ErrStale), errors.Is(err, apply.ErrGone):
	case err != nil:
		return fmt.Errorf("%w; %s: %w", refused, step.Reason, err)
	default:
		w.managed.mu.Lock()
		w.managed.state.recreate()
		w.managed.isReplaced = true
		w.managed.mu.Unlock()
		w.engine.noteRecreated(w.snap.owner, w.managed.id, fmt.Sprintf("%s: %s", step.Reason, refused))
		w.engine.Observer.OnRecreate(w.snap.owner, w.managed.id, step.Reason, refused)
	}
	w.reread()
	return nil
}

// noteCounts remembers the ceded counts of an object that is about to be deleted.
func (w *objectReconcile) noteCounts(live object.Object) error {
	r := w.managed
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory = w.withCounts(r.memory, w.claims, live)
	return w.engine.keepMemory(r)
}
