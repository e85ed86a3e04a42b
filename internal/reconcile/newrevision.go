package reconcile

import (
	"context"
	"slices"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// mayChangeNothing reports whether a new revision is compared with the cluster before it is brought out: an automated sync of Argo CD begins when
// the Application is OutOfSync, so that a commit that is about others is no operation, runs no hooks and makes no history. A rollout that has begun goes
// on.
func (r *appRun) mayChangeNothing() bool {
	a := r.asked
	if a.Rollout != app.IfChanged || a.SyncRequest.Token != "" {
		return false
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	begun := r.report.Rollout
	goesOn := !begun.Healing && begun.Revision == r.report.Revision && begun.Order.Token == "" && !begun.Begun.IsZero() && (begun.Ended.IsZero() || begun.Reason != report.Succeeded)
	return !goesOn && r.state.compared != r.rolloutKey()
}

// onlyCompare has the run write nothing.
func (r *appRun) onlyCompare() {
	r.purpose.compare()
	r.app = r.asked.BetweenRollouts()
	r.app.Policy.Mode = policy.Await
	r.setPolicy(r.app)
	if o, open := r.openOperation(); !open || r.isAbout(o) { // else not before followOperation: a rollout would take the place of that operation
		r.noteCompared()
	}
}

// noteCompared has the next run bring the revision out, also if the comparison fails.
func (r *appRun) noteCompared() {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.compared = r.rolloutKey()
}

// bringOutChange makes a rollout of a comparison whose result is known: Git describes other objects than before, or an operation goes on that was begun
// with another revision, or by an earlier process.
func (r *appRun) bringOutChange(ctx context.Context) error {
	if !r.purpose.comparesOnly() {
		r.noteBegun()
		return nil
	}
	goesOn, err := r.followOperation(ctx)
	if err != nil {
		return err
	}
	r.noteCompared()
	isCertain := goesOn
	if !goesOn {
		if isCertain, err = r.isOperationCertain(ctx); err != nil {
			return err
		}
	}
	isCompared := goesOn && !r.report.Rollout.Begun.IsZero() // with the revision before
	if !isCompared && r.waitsForHooks() {
		// Until the first hook has ended, the comparison is what is known of the objects, also of an operation that an earlier process has begun.
		if isCertain {
			r.purpose.confirm()
		}
		return nil
	}
	if !isCertain && !r.isOtherThanBefore() {
		return nil
	}
	r.beginRollout()
	r.noteBegun()
	if err := r.inheritEntries(ctx); err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	return nil
}

// isOperationCertain reports whether there is an operation, however the objects compare: the first one, since a comparison takes nothing over from another
// controller, one that an earlier process has begun, or one that changes the namespace.
func (r *appRun) isOperationCertain(ctx context.Context) (bool, error) {
	isFirst := len(r.inventory.Entries) == 0 && (len(r.set.Objects) > 0 || r.asked.Adoption.Takes())
	if isFirst || r.inventory.Operation.Key == r.operationKey() {
		return true, nil
	}
	return r.lacksNamespaceMetadata(ctx)
}

// waitsForHooks reports whether an operation would run hooks before its objects.
func (r *appRun) waitsForHooks() bool {
	return !r.asked.Adoption.Takes() && slices.ContainsFunc(r.set.Hooks, func(h desired.Hook) bool {
		return slices.Contains(h.At.Moments, string(hook.PreSync))
	})
}

// isOtherThanBefore reports whether Git describes other objects than when they were applied last, as far as this process or the inventory knows.
func (r *appRun) isOtherThanBefore() bool {
	had := map[object.ID]inventory.Entry{}
	for _, e := range r.inventory.Entries {
		had[e.ID] = e
	}
	for _, o := range r.set.Objects {
		e, listed := had[o.ID]
		delete(had, o.ID)
		rec := r.engine.lookup(o.ID)
		if rec == nil && (!listed || e.Sent != o.Digest) || rec != nil && rec.ownedBy() == r.app.Key && rec.describesOther(o) {
			return true
		}
	}
	return len(had) > 0 && r.asked.Prune == policy.PruneDelete
}

// describesOther reports whether the object was another one in the revision before.
func (r *managedObject) describesOther(o desired.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.isDescribed() && r.digest != o.Digest
}

// endComparison takes in what the comparison of a new revision has shown: the cluster is as it describes, or the next run brings it out.
func (r *appRun) endComparison() {
	if !r.purpose.comparesOnly() {
		return
	}
	if r.purpose == comparingBefore || !r.isInSync() {
		r.engine.queue.EnqueueApp(r.app.Key)
		return
	}
	r.app = r.asked.BetweenRollouts() // so that the revision counts as applied
	if r.asked.Adoption.Takes() {     // nothing was taken over by a run that writes nothing
		r.engine.queue.EnqueueApp(r.app.Key)
	}
	r.state.mu.Lock()
	r.state.rolledOut, r.state.exhausted = r.rolloutKey(), exhausted{}
	r.state.mu.Unlock()
}

// isInSync reports whether an operation would find nothing to do.
func (r *appRun) isInSync() bool {
	if r.asked.Prune == policy.PruneDelete && len(r.report.Leaving) > 0 {
		return false
	}
	for _, id := range r.state.objects() {
		rec := r.engine.lookup(id)
		if rec == nil {
			return false
		}
		if o := rec.view(); o.Problem != "" || o.Sync() != report.Synced {
			return false
		}
	}
	return true
}
