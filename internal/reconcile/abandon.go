package reconcile

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// endAbandoned ends the automated operation that neither this run nor a later one goes on with, and stops its hooks. failed is why the run has stopped; nil where
// it has not. An operation that cannot be ended now stays open until the next run.
func (r *appRun) endAbandoned(ctx context.Context, failed error) {
	o, open := r.openOperation()
	if !open || r.purpose == rollingOut || r.asked.Policy.Mode != policy.Enforce || r.access.Live == nil || r.canceled || onlyWaits(reasonOf(failed)) {
		return
	}
	reason, why := r.whyAbandoned(o, failed)
	if reason == "" {
		return
	}
	if reason != report.Succeeded {
		if err := r.stopHooks(ctx, why, reason == report.OperationTerminated && r.isAbout(o)); err != nil {
			r.report.Notes = append(r.report.Notes, "the operation is not ended yet: "+r.redacted(err.Error()))
			return
		}
	}
	now := r.engine.Now()
	for i, h := range o.Hooks {
		if isUnderWay(h.Run.Phase) {
			h.Run.Phase, h.Run.Completed, h.Run.Message = hook.Failed, now.UTC(), why
			o.Hooks = slices.Clone(o.Hooks)
			o.Hooks[i] = h
		}
	}
	if !o.Ended.IsZero() && reason == report.OperationAbandoned {
		why = o.Message + "; not tried again: " + why
	}
	o.Ended, o.Next, o.Reason, o.Message = now, time.Time{}, reason, why
	r.report.Rollout = o
}

// openOperation returns the automated operation that has not ended, also one that an earlier process has left; false for none.
func (r *appRun) openOperation() (report.Rollout, bool) {
	o := r.report.Rollout
	if o.Begun.IsZero() {
		left := r.asked.LeftOperation
		return report.Rollout{Revision: left.Revision, Begun: left.Begun, IsLeft: true}, !left.Begun.IsZero()
	}
	return o, o.Order.Token == "" && !o.Healing && (o.Ended.IsZero() || o.IsTriedAgain())
}

// isAbout reports whether an operation brings out the revision that the run is about.
func (r *appRun) isAbout(o report.Rollout) bool {
	if o.IsLeft {
		return isRemembered(r.artifact, o.Revision)
	}
	return o.Revision == r.artifact.Revision
}

// whyAbandoned says how an open operation ends that this run does not go on with; empty where a later run does. A sync window that keeps it out only makes it wait.
func (r *appRun) whyAbandoned(o report.Rollout, failed error) (report.Reason, string) {
	isOff := r.asked.Rollout == app.OnRequest && !r.asked.AwaitsWindow
	ends := failed == nil && r.wasRolledOut() || failed != nil && !r.isAbout(o) && outlook(reasonOf(failed), failed) == live.Lasting
	switch {
	case r.artifact.Revision == "" && !isOff:
		return "", ""
	case r.asked.Terminating && r.asked.TerminatingRequest == "":
		return report.OperationTerminated, errTerminated.Error()
	case isOff:
		return report.OperationAbandoned, "automated sync was switched off"
	case r.asked.Rollout != app.IfChanged || !ends:
		return "", ""
	case o.IsLeft && r.isAbout(o) && !r.wasCompared() && r.inventory.Operation.Key != "" && !r.inventory.Operation.Ended: // its hooks are not over
		return "", ""
	case o.IsLeft && r.isAbout(o):
		return report.Succeeded, ""
	case r.isAbout(o):
		return report.OperationAbandoned, "superseded by a change of the spec"
	}
	return report.OperationAbandoned, "superseded by revision " + cmp.Or(r.artifact.Commit, r.artifact.Revision)
}

// wasCompared reports whether this process has found out that the cluster is as a revision describes, or has brought one out: the history of a custom resource
// may have the revision of an operation from one before.
func (r *appRun) wasCompared() bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.rolledOut != ""
}

func reasonOf(err error) report.Reason {
	var f *stageError
	switch {
	case err == nil:
		return report.Succeeded
	case errors.As(err, &f):
		return f.reason
	}
	return report.ApplyFailed
}

func isUnderWay(p hook.Phase) bool { return p == hook.Running || p == hook.Replacing }

// stopHooks deletes the objects of the hooks of the newest operation that run. Where a person has ended what the run is about, that is recorded; else the record
// forgets how far the operation has come, so that it begins with its first hook if it is ever brought out.
func (r *appRun) stopHooks(ctx context.Context, why string, isTerminated bool) error {
	if err := r.lockedLoad(ctx); err != nil {
		return err
	}
	op := r.inventory.Operation
	if r.inventory.Unverified != "" || !isTerminated && (op.Key == "" || op.Ended) {
		return nil
	}
	if err := r.engine.deleteHooks(ctx, r.app, r.access, runningHooks(op)); err != nil {
		return err
	}
	next := r.inventory
	next.Operation = withoutOperation(op)
	if isTerminated {
		r.takeUpOperation()
		next.Operation = r.asTerminated(r.inventory.Operation, why)
	}
	r.engine.releaseWaits.waitsNoMore(r.app.Key)
	r.engine.awaitHook(r.app.Key, nil)
	if err := r.engine.save(ctx, next); err != nil {
		return &stageError{report.RecordFailed, err}
	}
	r.inventory = next
	return nil
}

// asTerminated is an operation that a person has ended, as it is recorded.
func (r *appRun) asTerminated(op inventory.Operation, why string) inventory.Operation {
	now := r.engine.Now().UTC()
	for key, run := range op.Hooks {
		if isUnderWay(run.Phase) {
			run.Phase, run.Completed, run.Message = hook.Failed, now, why
			op = op.With(key, hook.Run(run))
		}
	}
	op.Ended, op.Terminated, op.Cause, op.Failed = true, r.revisionKey(), why, now
	return op
}

// runningHooks are the objects of the hooks of an operation that run, in an order that is the same each time.
func runningHooks(op inventory.Operation) []object.ID {
	var out []object.ID
	for key, run := range op.Hooks {
		event, text, _ := strings.Cut(key, " ")
		id, err := object.ParseID(text)
		if err == nil && isUnderWay(run.Phase) && slices.Contains(syncEvents, hook.Event(event)) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, object.ID.Compare)
	return out
}
