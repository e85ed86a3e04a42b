package reconcile

import (
	"context"
	"errors"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// errTerminated ends an operation that a person has ended.
var errTerminated = &stageError{report.OperationTerminated, errors.New("operation terminated")}

// heedTermination ends the operation if a person has asked for that: nothing is waited for any more, and the objects of its hooks that run are deleted.
// What was applied stays. The operation does not begin again by itself, in another process neither, until another revision or sync is asked for: a run of the same
// revision goes on as one that follows an exhausted operation.
func (r *appRun) heedTermination(ctx context.Context) error {
	if r.purpose != rollingOut || r.app.Policy.Mode != policy.Enforce {
		return nil
	}
	had := r.wasTerminated()
	switch {
	case had:
		r.leaveRollout()
	case !r.asked.Terminating, r.asked.TerminatingRequest != r.asked.SyncRequest.Token:
		return nil
	default:
		r.takeUpOperation()
	}
	s := r.newSyncHooks(syncEvents)
	stopped := s.stopRunning()
	if op := s.terminated(); !had {
		if err := s.save(ctx, op); err != nil {
			return err
		}
		s.report()
	}
	r.engine.releaseWaits.waitsNoMore(r.app.Key)
	r.engine.awaitHook(r.app.Key, nil)
	if err := r.engine.deleteHooks(ctx, r.app, r.access, stopped); err != nil {
		return &stageError{report.OperationTerminated, errors.Join(errTerminated.err, err)}
	}
	if had && r.isAutomated() {
		r.exhaust(report.OperationTerminated, errTerminated.Error())
		r.keepApplied()
		return nil
	}
	return errTerminated
}

// isAutomated reports whether the operation is one that no request asks for.
func (r *appRun) isAutomated() bool {
	return r.asked.Rollout == app.IfChanged && r.asked.SyncRequest.Token == ""
}

// endTerminated ends what was asked for if a person wants that and the run has stopped before heedTermination, since the revision is not there or cannot be
// rendered: its further tries would stop there, too.
func (r *appRun) endTerminated(ctx context.Context, failed error) {
	a := r.asked
	if !r.hasOpenRequest() || !a.Terminating || a.TerminatingRequest != a.SyncRequest.Token || a.Policy.Mode != policy.Enforce || r.canceled || reasonOf(failed) == report.OperationTerminated {
		return
	}
	if r.access.Live != nil && a.SyncRequest.Mode == "" {
		if err := r.stopHooks(ctx, errTerminated.Error(), r.purpose == rollingOut); err != nil {
			r.report.Notes = append(r.report.Notes, "the operation is not ended yet: "+r.redacted(err.Error()))
			return
		}
	}
	r.isTerminated = true
}

// wasTerminated reports whether the operation is one that a person has ended. What was brought out by it is not brought out again unasked.
func (r *appRun) wasTerminated() bool {
	was := r.inventory.Operation
	return was.Terminated == r.revisionKey() && (r.asked.SyncRequest.Token == "" || was.Key == r.operationKey())
}

// leaveRollout has the report say of the operation what it said before.
func (r *appRun) leaveRollout() {
	r.purpose.leave()
	r.app = r.asked.BetweenRollouts()
	r.setPolicy(r.app)
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.report.Rollout = r.state.report.Rollout
}

// stopRunning has the hooks that run fail, and returns the objects of those that were stopped, also before.
func (s *syncHooks) stopRunning() (stopped []object.ID) {
	text := errTerminated.Error()
	for _, h := range s.all {
		run := s.runs[h.Index]
		if isUnderWay(run.Phase) {
			run.Phase, run.Completed, run.Message = hook.Failed, s.run.engine.Now().UTC(), text
			s.runs[h.Index] = run
		}
		if run.Phase == hook.Failed && run.Message == text {
			stopped = append(stopped, h.Object.ID())
		}
	}
	return stopped
}

// terminated is the operation as it is recorded.
func (s *syncHooks) terminated() inventory.Operation {
	op := s.run.inventory.Operation
	for i, run := range s.runs {
		op = op.With(s.keys[i], run)
	}
	return s.run.asTerminated(op, errTerminated.Error())
}
