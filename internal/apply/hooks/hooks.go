// Package hooks answers: how far have the hooks of a Helm release, or of an operation, come, and what is there to do next?
//
// In: the hooks of one event, how each of them ran as is recorded, and the cluster as the account of an app reads and writes it.
// Out: the hooks that have run; those that are waited for, or those that have failed, and why.
// Promise: one hook after the other, or those of one wave at once; that a hook runs is recorded before its object is created, so that another process goes on where this one was
// killed; nothing is waited for by sleeping; only objects that are hooks themselves are deleted, and none that an app manages.
// Not here: which event it is (reconcile), what is recorded where (releases, inventory).
package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// Kind is what hooks are of.
type Kind struct {
	// Marks are the annotations, one of which makes an object a hook.
	Marks []string
	// Manager is the name that hooks bear in managedFields.
	Manager string
	// Former says what is done about the former object of a hook whose policies do not have it deleted.
	Former Former
	Order  Order
	// Owner is the app that the hooks are of, which OwnerMark names on their objects; empty for no mark. What has the mark of another app stays when a
	// hook is over.
	Owner string
}

// OwnerMark is the annotation that names the app which has made the object of a hook. It is no label: what is found by a label is an object that an app
// manages.
const OwnerMark = "truce.dev/hook-of"

// Order says which hooks of an event run at once.
type Order string

// The values of Order.
const (
	OneByOne Order = ""      // none, as in Helm
	ByWave   Order = "waves" // those of one weight, as in Argo CD
)

// Former is what is done about a former object.
type Former string

// The values of Former.
const (
	FormerFails   Former = ""        // the hook fails, as in Helm
	FormerApplied Former = "applied" // it is applied again, as in Argo CD
)

// Runner runs the hooks of one event of a release, or of an operation.
type Runner struct {
	Kind
	Event       hook.Event
	Hooks       []hook.Hook       // those of the event, in their order
	Namespace   string            // of hooks that name none
	Labels      map[string]string // put on the hooks, and so are Annotations
	Annotations map[string]string
	Timeout     time.Duration // of each hook; 0 for none
	// Health judges the objects of hooks other than Jobs and Pods; nil for waiting for none of them, as Helm does.
	Health   health.Assessor
	Access   tenancy.Access
	Cluster  Cluster
	Recorder Recorder
	Now      func() time.Time
	// Secrets are masked in the text of a HookError: the API server's answer may repeat a value. nil for none.
	Secrets *redact.Known
	// Created are the hooks, by their Index, of which this process has created the object.
	Created map[int]bool
	// Ended are the last states of objects that Advance waited for and that may be gone: what deletes a Job as soon as it has finished is faster than a read.
	Ended map[object.ID]object.Object
}

// Cluster is what is known of objects.
type Cluster interface {
	// ScopeOf knows where the objects of a kind are. It may block.
	ScopeOf(ctx context.Context, gvk object.GVK) (desired.Scope, error)
	// Manages reports whether an app has the object.
	Manages(id object.ID) bool
}

// Recorder stores how hooks ran.
type Recorder interface {
	// Record returns when it is stored. It may block.
	Record(ctx context.Context, runs map[int]hook.Run) error
}

func isBeingDeleted(o object.Object) bool { return o.At("metadata", "deletionTimestamp") != nil }

// HookError is a hook that has failed.
type HookError struct {
	Hook hook.Hook
	Text string
}

// Error implements error, in the words of helm-controller.
func (f *HookError) Error() string { return f.Text }

// recordEnds stores that hooks have ended before their objects are deleted: who finds none would make them again.
func (r *Runner) recordEnds(ctx context.Context, runs map[int]hook.Run) error {
	if !slices.ContainsFunc(r.Hooks, func(h hook.Hook) bool { return h.Deletes(hook.WhenSucceeded) }) {
		return nil
	}
	return r.Recorder.Record(ctx, runs)
}

// run takes one hook from one phase to the next, until it has ended or has to be waited for.
func (r *Runner) run(ctx context.Context, h hook.Hook, runs map[int]hook.Run) (WaitError, error) {
	t, err := r.target(ctx, h)
	if err != nil {
		return WaitError{}, err
	}
	now, err := r.read(ctx, t)
	if err != nil {
		return WaitError{}, err
	}
	switch {
	case runs[h.Index].Phase != hook.Running:
		if wait, err := r.begin(ctx, h, now, runs); err != nil || wait != (WaitError{}) {
			return wait, err
		}
		now = nil
	case now == nil:
		now = r.Ended[t.ID]
	}
	if now == nil || r.mayBeFormer(h) {
		if r.Created[h.Index] {
			return WaitError{}, r.failure(h, t, "it was deleted before it had finished")
		}
		if now, err = r.create(ctx, h, t); err != nil {
			return WaitError{}, err
		}
		r.Created[h.Index] = true
	}
	return r.judge(ctx, h, now, runs[h.Index])
}

// begin records that a hook runs, once there is room for its object.
func (r *Runner) begin(ctx context.Context, h hook.Hook, now object.Object, runs map[int]hook.Run) (WaitError, error) {
	if wait, err := r.clear(ctx, h, now, runs); err != nil || wait != (WaitError{}) {
		return wait, err
	}
	runs[h.Index] = hook.Run{Phase: hook.Running, Started: r.Now()}
	delete(r.Created, h.Index)
	return WaitError{}, r.Recorder.Record(ctx, runs)
}

// mayBeFormer reports whether the object that is there may be the former one: only the process that has the answer knows whether it was applied.
func (r *Runner) mayBeFormer(h hook.Hook) bool {
	return r.Former == FormerApplied && !h.Deletes(hook.BeforeCreation) && !r.Created[h.Index]
}

// target is the object of a hook.
func (r *Runner) target(ctx context.Context, h hook.Hook) (apply.Target, error) {
	t := apply.Target{GVK: h.Object.GVK(), ID: h.Object.ID()}
	scope, err := r.Cluster.ScopeOf(ctx, t.GVK)
	if err != nil {
		return t, err
	}
	switch {
	case scope == desired.ClusterWide:
		t.ID.Namespace = ""
	case t.ID.Namespace == "":
		t.ID.Namespace = r.Namespace
	}
	if t.ID.Name == "" {
		return t, r.failure(h, t, "it has no metadata.name")
	}
	return t, nil
}

// read returns the object; nil for none.
func (r *Runner) read(ctx context.Context, t apply.Target) (object.Object, error) {
	o, err := r.Access.Live.Get(ctx, t.GVK, t.ID)
	if errors.Is(err, live.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read hook %s: %w", t.ID, err)
	}
	return o, nil
}

// clear deletes the former object of a hook, and waits until it is gone.
func (r *Runner) clear(ctx context.Context, h hook.Hook, now object.Object, runs map[int]hook.Run) (WaitError, error) {
	if now == nil {
		return WaitError{}, nil
	}
	t, err := r.target(ctx, h)
	if err != nil {
		return WaitError{}, err
	}
	if !h.Deletes(hook.BeforeCreation) {
		return WaitError{}, r.keepFormer(h, t, now)
	}
	if why := r.refusesChange(t.ID, now); why != "" {
		return WaitError{}, r.failure(h, t, why)
	}
	if err := r.recordReplacing(ctx, h, runs); err != nil {
		return WaitError{}, err
	}
	until, over := r.deadline(runs[h.Index])
	if over {
		return WaitError{}, r.failure(h, t, fmt.Sprintf("its former object is still there after %s: %s", r.Timeout, finalizersOf(now)))
	}
	if err := r.remove(ctx, t, r.refusesChange); err != nil {
		return WaitError{}, fmt.Errorf("the former one: %w", err)
	}
	again, err := r.read(ctx, t)
	if err != nil || again == nil {
		return WaitError{}, err
	}
	return WaitError{Check: checkOf(t), Until: until, For: ForAbsence, Text: fmt.Sprintf("waiting until the former %s is gone", t.ID)}, nil
}

// keepFormer says why a hook fails whose former object is not deleted; nil where it may be applied again.
func (r *Runner) keepFormer(h hook.Hook, t apply.Target, now object.Object) error {
	if h.Object.GVK().Kind == "CustomResourceDefinition" {
		return nil
	}
	if r.Former != FormerApplied {
		return r.failure(h, t, "it exists already, and the hook's delete policy does not name before-hook-creation")
	}
	if why := r.refusesChange(t.ID, now); why != "" {
		return r.failure(h, t, why)
	}
	return nil
}

// deadline is until when a hook is waited for; zero for no bound.
func (r *Runner) deadline(run hook.Run) (until time.Time, over bool) {
	if r.Timeout == 0 {
		return time.Time{}, false
	}
	until = run.Started.Add(r.Timeout)
	return until, !r.Now().Before(until)
}

// recordReplacing stores that the former object is being replaced, and since when.
func (r *Runner) recordReplacing(ctx context.Context, h hook.Hook, runs map[int]hook.Run) error {
	if runs[h.Index].Phase == hook.Replacing {
		return nil
	}
	runs[h.Index] = hook.Run{Phase: hook.Replacing, Started: r.Now()}
	return r.Recorder.Record(ctx, runs)
}

func finalizersOf(o object.Object) string {
	list, _ := o.At("metadata", "finalizers").([]any)
	if len(list) == 0 {
		return "it was not deleted"
	}
	return fmt.Sprintf("it has finalizers %v", list)
}

// refusesChange says why an object of a hook's name is left alone; empty for one that may be deleted, or applied again.
func (r *Runner) refusesChange(id object.ID, now object.Object) string {
	isHook := slices.ContainsFunc(r.Marks, func(key string) bool { _, has := now.Annotation(key); return has })
	if !isHook {
		return "there is an object of its name that is no hook (it has no annotation " + strings.Join(r.Marks, " or ") + "): truce leaves it alone"
	}
	if r.Cluster.Manages(id) {
		return "there is an object of its name that an app manages: truce leaves it alone"
	}
	return ""
}

// refusesEnd says why the object of a hook that is over is left alone; empty for one that may be deleted. Another app may have made it again.
func (r *Runner) refusesEnd(id object.ID, now object.Object) string {
	if of, marked := now.Annotation(OwnerMark); r.Owner != "" && marked && of != r.Owner {
		return "it is a hook of " + of + ": truce leaves it alone"
	}
	return r.refusesChange(id, now)
}

func checkOf(t apply.Target) health.Check { return health.Check{ID: t.ID, Version: t.GVK.Version} }

// create creates the object of a hook.
func (r *Runner) create(ctx context.Context, h hook.Hook, t apply.Target) (object.Object, error) {
	body := h.Object.Clone()
	meta := body.Metadata()
	delete(meta, "namespace")
	if t.ID.Namespace != "" {
		meta["namespace"] = t.ID.Namespace
	}
	putMarks(meta, "labels", r.Labels)
	putMarks(meta, "annotations", r.Annotations)
	if r.Owner != "" {
		putMarks(meta, "annotations", map[string]string{OwnerMark: r.Owner})
	}
	made, err := r.Access.Writer.Apply(ctx, apply.Apply{Target: t, Body: body, Manager: r.Manager, Force: apply.Yield, DryRun: apply.Persist})
	switch {
	case err == nil:
		return made, nil
	case errors.Is(err, live.ErrUnanswered), errors.Is(err, live.ErrDoubtful) && !errors.Is(err, apply.ErrForbidden), ctx.Err() != nil:
		return nil, fmt.Errorf("create hook %s: %w", t.ID, err)
	}
	return nil, r.failure(h, t, err.Error())
}

// putMarks puts labels or annotations into metadata.
func putMarks(meta map[string]any, field string, marks map[string]string) {
	has, _ := meta[field].(map[string]any)
	if has == nil {
		has = map[string]any{}
	}
	for k, v := range marks {
		has[k] = v
	}
	if len(has) > 0 {
		meta[field] = has
	}
}

func (r *Runner) failure(h hook.Hook, t apply.Target, why string) *HookError {
	text := fmt.Sprintf("failed %s: hook %s (%s) failed: %s", r.Event, t.ID, h.Path, why)
	if r.Secrets != nil {
		text = r.Secrets.Text(text)
	}
	return &HookError{Hook: h, Text: text}
}

// cleanUp deletes the objects of hooks that ask for it now that they have ended, the last one first.
func (r *Runner) cleanUp(ctx context.Context, runs map[int]hook.Run) error {
	var errs []error
	for _, h := range slices.Backward(r.Hooks) {
		phase := runs[h.Index].Phase
		if h.IsDeletedAfter(phase) {
			if t, err := r.target(ctx, h); err == nil { // else it has failed for this
				errs = append(errs, r.remove(ctx, t, r.refusesEnd))
			}
		}
	}
	return errors.Join(errs...)
}

// Remove deletes the objects of hooks that are no longer waited for.
func (r *Runner) Remove(ctx context.Context) error {
	var errs []error
	for _, h := range slices.Backward(r.Hooks) {
		t, err := r.target(ctx, h)
		if err == nil {
			err = r.remove(ctx, t, r.refusesEnd)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// remove deletes the object of a hook, unless that is refused. One that changes at each try may still be there.
func (r *Runner) remove(ctx context.Context, t apply.Target, refuses func(object.ID, object.Object) string) error {
	const tries = 5 // its controller writes its status meanwhile
	for range tries {
		now, err := r.read(ctx, t)
		if err != nil || now == nil || isBeingDeleted(now) || refuses(t.ID, now) != "" {
			return err
		}
		t.UID, t.ResourceVersion = now.UID(), now.ResourceVersion()
		if err = r.Access.Writer.Delete(ctx, t); err == nil || errors.Is(err, apply.ErrGone) {
			return nil
		}
		if !errors.Is(err, apply.ErrStale) {
			return fmt.Errorf("delete hook %s: %w", t.ID, err)
		}
	}
	return nil
}
