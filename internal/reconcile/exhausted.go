package reconcile

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/pause"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// exhausted is an automated operation that has failed and has no retries left, or that a person has ended. As in Argo CD it is not begun again before another revision, a sync
// that is requested, or a change of the spec. Its zero value is none.
type exhausted struct {
	key     string // what it was about, see attemptKey; empty for none
	reason  report.Reason
	message string // redacted
}

// final are the reasons of a failure that is not repeated once the retries are used up. What is not among them passes by itself, is no failure of
// what Git describes, or waits for a person's approval.
var final = []report.Reason{report.ApplyFailed, report.HookFailed, report.HealthFailed, report.PruneFailed, report.OwnedByOther}

// attemptKey is what an automated operation is about: what is brought out, and how.
func (r *appRun) attemptKey() string {
	a := r.asked
	about := []any{a.DefaultNamespace, a.Retry, a.Backoff, a.Prune, a.AllowEmpty, a.Policy, a.Account, a.Recreate}
	if a.PruneRestraint.IsSet() {
		about = append(about, a.PruneRestraint)
	}
	how, err := json.Marshal(about)
	if err != nil {
		how = nil // texts and numbers always encode
	}
	return shortKey(r.rolloutKey(), string(how))
}

// triesLeft reports whether an operation that has failed is tried again by itself, and when.
func (r *appRun) triesLeft(o report.Rollout) (time.Time, bool) {
	first, backoff := r.retries()
	pause, again := backoff.Pause(first, o.Tries+1)
	return o.Ended.Add(pause), again && first > 0
}

// retries says how an operation that has failed is tried again: as what was requested says, else as the app does.
func (r *appRun) retries() (first time.Duration, backoff pause.Backoff) {
	if order := r.asked.SyncRequest; order.Token != "" {
		return order.Retry, order.Backoff
	}
	return r.asked.Retry, r.asked.Backoff
}

// noteExhausted notes how an automated operation has ended. What may pass without a change in Git uses up no retries, unlike in Argo CD: a server that
// does not answer, a kind that it does not serve yet, a permission, a namespace. It is tried at the interval.
func (r *appRun) noteExhausted() {
	o := &r.report.Rollout
	again, left := r.triesLeft(*o)
	if left && o.Next.IsZero() {
		o.Next = again
	}
	if !r.isAutomated() || r.canceled {
		return
	}
	if left || r.report.Outlook != live.Lasting || !slices.Contains(final, o.Reason) || !r.hasTriedObjects() {
		return
	}
	o.Next, o.Exhausted = time.Time{}, true
	r.exhaust(o.Reason, o.Message)
	r.engine.queue.EnqueueApp(r.app.Key) // what the operation has not come to is compared
}

// exhaust has the automated operation not begin again.
func (r *appRun) exhaust(why report.Reason, message string) {
	r.setExhausted(exhausted{key: r.attemptKey(), reason: why, message: message})
}

// hasTriedObjects reports whether the run has come to what the revision describes: before that nothing was tried.
func (r *appRun) hasTriedObjects() bool {
	switch r.report.Stage {
	case report.Admit, report.Fetch, report.Depend, report.Render, report.Normalize, report.Validate:
		return false
	default:
		return true
	}
}

// isExhausted reports whether the run is about what an automated operation has failed to bring out, and no retry is left. Such a run puts back the
// drift of what was applied, where the app asks for that, and writes nothing else.
func (r *appRun) isExhausted() bool {
	a := r.asked
	if !r.isAutomated() || a.Policy.Mode != policy.Enforce {
		return false
	}
	r.state.mu.Lock()
	was, unknown := r.state.exhausted, r.report.Rollout.Begun.IsZero()
	r.state.mu.Unlock()
	if was.key == "" && unknown && a.FailedRevision != "" && isRemembered(r.artifact, a.FailedRevision) {
		was = exhausted{key: r.attemptKey(), reason: report.ApplyFailed, message: a.FailedMessage}
	}
	if was.key != r.attemptKey() || r.wasRolledOut() {
		was = exhausted{}
	}
	r.setExhausted(was)
	return was.key != ""
}

// setExhausted notes an exhausted operation, and has objects be judged by that from now on.
func (r *appRun) setExhausted(is exhausted) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.exhausted == is && r.state.app.OnlyApplied == (is.key != "") {
		return
	}
	r.state.exhausted = is
	r.state.app = r.state.betweenRollouts(r.asked)
}

// keepApplied makes the run one that follows an exhausted operation.
func (r *appRun) keepApplied() {
	r.app.OnlyApplied = true
	if r.app.Prune == policy.PruneDelete {
		r.app.Prune = policy.PruneReport
	}
}

// endExhausted has the run end as the exhausted operation did, unless the cluster is as Git wants by now.
func (r *appRun) endExhausted() error {
	if !r.app.OnlyApplied || r.isInSync() {
		return nil
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return &stageError{r.state.exhausted.reason, errors.New(r.state.exhausted.message)}
}

// unlessLeftOut is the app as it holds for the object: nothing is written if the operation that was to apply it is exhausted. What truce has begun to
// write is written.
func (w *objectReconcile) unlessLeftOut(a app.App) app.App {
	w.managed.mu.Lock()
	defer w.managed.mu.Unlock()
	if a.OnlyApplied && a.Policy.Mode == policy.Enforce && w.snap.state.isChanged() && !w.wrote && !w.managed.isReplaced {
		a.Policy.Mode = policy.Await
	}
	return a
}

// isLeftOut reports the same of an object to a run of its app: its problem is that of the operation.
func (r *appRun) isLeftOut(rec *managedObject) bool {
	if rec == nil || !r.app.OnlyApplied {
		return false
	}
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return rec.state.isChanged() && !rec.isReplaced
}
