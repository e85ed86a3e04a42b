package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// endEvents are those at which hooks run when an app is deleted, in their order.
var endEvents = []hook.Event{hook.BeforeEnd, hook.AfterEnd}

// endHooksOf are the events of endEvents at which a revision has hooks; never nil.
func endHooksOf(s desired.Set) []hook.Event {
	out := []hook.Event{}
	for _, event := range endEvents {
		if slices.ContainsFunc(s.Hooks, func(h desired.Hook) bool { return slices.Contains(h.At.Moments, string(event)) }) {
			out = append(out, event)
		}
	}
	return out
}

// endPolicies are the policies of a hook that runs when its app is deleted. As in Argo CD it runs again when it has failed, and one without policies
// does not stay.
func endPolicies(asked []hook.DeletePolicy) []hook.DeletePolicy {
	if len(asked) == 0 {
		return []hook.DeletePolicy{hook.BeforeCreation, hook.WhenSucceeded}
	}
	return append(slices.Clone(asked), hook.BeforeCreation)
}

// endHooks are the hooks of an app that is being deleted, as the newest revision describes them; nil for none. How far they have come is in the
// app's inventory.
type endHooks struct{ *syncHooks }

// newEndHooks reads the hooks from the app's source, where its custom resource asks for them.
func (e *Engine) newEndHooks(ctx context.Context, a app.App, saved inventory.Record) (*endHooks, error) {
	if !a.AsksForEndHooks() {
		return nil, nil
	}
	access, err := e.accessOf(a)
	if err != nil {
		return nil, err
	}
	r := &appRun{engine: e, state: &appState{}, asked: a, app: a, access: access, inventory: saved}
	if err := r.renderEndHooks(ctx); err != nil {
		return nil, withoutHooks(a, endEvents, fmt.Errorf("read the hooks that run when the app is deleted: %w", err))
	}
	r.takeUpEnd()
	return &endHooks{r.newSyncHooks(endEvents)}, nil
}

// renderEndHooks leaves the hooks that are asked for in the set, and refuses those that may not be made.
func (r *appRun) renderEndHooks(ctx context.Context) error {
	var err error
	if r.artifact, err = r.engine.Sources.Artifact(r.app.Source); err != nil {
		return err
	}
	r.asked, r.app = r.asked.AtRevision(r.artifact.Commit, r.artifact.Files), r.app.AtRevision(r.artifact.Commit, r.artifact.Files)
	if err := r.render(ctx); err != nil {
		return err
	}
	if err := r.normalize(ctx); err != nil {
		return err
	}
	r.set.Hooks = slices.DeleteFunc(r.set.Hooks, func(h desired.Hook) bool {
		return !slices.ContainsFunc(h.At.Moments, func(m string) bool {
			return slices.Contains(endEvents, hook.Event(m)) && r.app.AsksForHooks(hook.Event(m))
		})
	})
	if err := r.leaveEndingNamespace(ctx); err != nil {
		return err
	}
	return r.permitHooks(ctx)
}

// leaveEndingNamespace leaves out hooks in the app's namespace if that is being deleted: nothing can be created there, and the app must not keep it.
func (r *appRun) leaveEndingNamespace(ctx context.Context) error {
	ending, err := r.engine.isHomeEnding(ctx, r.app)
	if errors.Is(err, live.ErrUnanswered) {
		return err
	}
	if ending { // a controller of some namespaces need not be allowed to read any: then a hook fails there, and says why
		r.set.Hooks = slices.DeleteFunc(r.set.Hooks, func(h desired.Hook) bool { return h.ID.Namespace == r.app.Key.Namespace })
	}
	return nil
}

// takeUpEnd goes on with the hooks where the inventory says, or begins. Those that have failed run again with another revision, on request, and after
// the app's interval.
func (r *appRun) takeUpEnd() {
	op := &r.inventory.Operation
	was, key, now := *op, "deletion of "+r.app.UID+" at ", r.engine.Now()
	if !strings.HasPrefix(was.Key, key) {
		*op = inventory.Operation{Key: key + r.artifact.Revision, Began: now.UTC()}
		return
	}
	op.Key = key + r.artifact.Revision
	if was.Cause == "" || was.Key == op.Key && r.app.Request == "" && now.Before(was.Failed.Add(r.app.Interval)) {
		return
	}
	op.Cause, op.Failed, op.Tries = "", time.Time{}, was.Tries+1
	op.Hooks = nil
	for key, run := range was.Hooks {
		if run.Phase != hook.Failed {
			*op = op.With(key, hook.Run(run))
		}
	}
}

// begin runs the hooks that come before the objects are deleted; h may be nil. The error holds hooks.WaitErrors while one is waited for.
func (h *endHooks) begin(ctx context.Context) error {
	if h == nil || h.run.inventory.Operation.Ended || !h.run.app.AsksForHooks(hook.BeforeEnd) {
		return nil
	}
	if err := h.runEvent(ctx, hook.BeforeEnd); err != nil {
		return err
	}
	op := h.run.inventory.Operation
	op.Ended = true // what a later revision would run before the objects is too late
	return h.save(ctx, op)
}

// end runs the hooks that come when the objects are gone; h may be nil.
func (h *endHooks) end(ctx context.Context, saved *inventory.Record) error {
	if h == nil || !h.run.app.AsksForHooks(hook.AfterEnd) {
		return nil
	}
	h.run.inventory = *saved
	err := h.runEvent(ctx, hook.AfterEnd)
	*saved = h.run.inventory
	return err
}

// runEvent runs the hooks of an event. That one has failed is recorded: the deletion is blocked.
func (h *endHooks) runEvent(ctx context.Context, event hook.Event) error {
	err := h.runPhase(ctx, event)
	var failed *hooks.HookError
	if !errors.As(err, &failed) {
		return err
	}
	op := h.run.inventory.Operation
	for i, run := range h.runs {
		run.Message = h.run.redacted(run.Message)
		op = op.With(h.keys[i], run)
	}
	if op.Cause == "" {
		op.Cause, op.Failed = h.run.redacted(failed.Error()), h.run.engine.Now().UTC()
	}
	err = fmt.Errorf("%w; it runs again with another revision, on a refresh, and every %s", err, h.run.app.Interval)
	return errors.Join(withoutHooks(h.run.app, []hook.Event{event}, err), h.save(ctx, op))
}

// withoutHooks adds to an error how the app is deleted without the hooks of events.
func withoutHooks(a app.App, events []hook.Event, err error) error {
	var names []string
	for _, h := range a.EndHooks {
		if h.Asked && slices.Contains(events, h.Event) {
			names = append(names, h.Finalizers[0])
		}
	}
	return fmt.Errorf("%w; to delete the app without these hooks, remove finalizer %s", err, strings.Join(names, " and "))
}
