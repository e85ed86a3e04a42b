package reconcile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// releaseWaits are the apps whose release waits for a hook or for its objects. Its lock is held across no other one.
type releaseWaits struct {
	mu  sync.Mutex
	all map[app.Key]*releaseWait
}

// releaseWait is what the release of one app waits for.
type releaseWait struct {
	hook    *hookWaitError // nil for none
	created map[int]bool   // the hooks, by their Index, of which this process has created the object
	ended   map[object.ID]object.Object
	// objects says since when the objects of a revision are waited for; zero for not.
	objects time.Time
	objectWait
	doubts int // in a row that may pass
}

// objectWait says which objects are waited for.
type objectWait struct {
	revision int // of the release; 0 for none
	wait     hook.Wait
	only     map[object.ID]bool // of the app's objects; nil for all
}

// hookWaitError are hooks that have not ended.
type hookWaitError struct {
	hooks.WaitErrors
	access tenancy.Access
	judge  health.Assessor
}

// of returns the wait for the end of an object; nil for none.
func (w *hookWaitError) of(o object.Object) *hooks.WaitError {
	if w == nil || o.UID() == "" {
		return nil
	}
	for i, one := range w.WaitErrors {
		if one.UID == o.UID() {
			return &w.WaitErrors[i]
		}
	}
	return nil
}

// minWait is the least time until a wait is looked at again.
const minWait = 10 * time.Millisecond

func (w *releaseWaits) of(key app.Key, change func(*releaseWait)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = map[app.Key]*releaseWait{}
	}
	if w.all[key] == nil {
		w.all[key] = &releaseWait{}
	}
	change(w.all[key])
}

func (w *releaseWaits) forget(key app.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.all, key)
}

// created are the hooks of which this process has created the object. Only the app's run uses them.
func (w *releaseWaits) created(key app.Key) (all map[int]bool) {
	w.of(key, func(one *releaseWait) {
		if one.created == nil {
			one.created = map[int]bool{}
		}
		all = one.created
	})
	return all
}

func (w *releaseWaits) hook(key app.Key) (wait *hookWaitError) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one := w.all[key]; one != nil {
		return one.hook
	}
	return nil
}

// ended are the last states of the objects of hooks that have ended since they were waited for.
func (w *releaseWaits) ended(key app.Key) (all map[object.ID]object.Object) {
	w.of(key, func(one *releaseWait) { all = maps.Clone(one.ended) })
	return all
}

// await replaces what is waited for; nil for no hook.
func (w *releaseWaits) await(key app.Key, wait *hookWaitError) {
	w.of(key, func(one *releaseWait) {
		one.hook = wait
		maps.DeleteFunc(one.ended, func(_ object.ID, o object.Object) bool { return wait.of(o) == nil })
	})
}

// observe remembers an object if it is a hook's that is waited for and has ended.
func (w *releaseWaits) observe(key app.Key, o object.Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.all[key]
	if one == nil {
		return
	}
	if wait := one.hook.of(o); wait != nil && wait.IsOver(o, one.hook.judge) {
		if one.ended == nil {
			one.ended = map[object.ID]object.Object{}
		}
		one.ended[wait.Check.ID] = o
	}
}

// isBelieved reports whether a failure is taken for one that lasts: a doubtful one is, when it is the third in a row.
func (w *releaseWaits) isBelieved(key app.Key, o live.Outlook) (believed bool) {
	const third = 3
	w.of(key, func(one *releaseWait) {
		if o == live.Doubtful {
			one.doubts++
		}
		if believed = o == live.Lasting || one.doubts >= third; believed {
			one.doubts = 0
		}
	})
	return believed
}

// waitsForObjects returns since when the objects of a revision are waited for.
func (w *releaseWaits) waitsForObjects(key app.Key, wait objectWait, now time.Time) (since time.Time) {
	w.of(key, func(one *releaseWait) {
		if one.revision != wait.revision || one.objects.IsZero() {
			one.objects = now
		}
		one.objectWait, since = wait, one.objects
	})
	return since
}

func (w *releaseWaits) waitsNoMore(key app.Key) {
	w.of(key, func(one *releaseWait) { one.objects, one.revision = time.Time{}, 0 })
}

// mostFollowed bounds how many hooks of one app are watched at once: those behind them follow when these have ended.
const mostFollowed = 20

// checks are the objects of the hooks that are watched.
func (w *hookWaitError) checks() []health.Check {
	var out []health.Check
	if w == nil {
		return nil
	}
	for _, one := range w.WaitErrors[:min(mostFollowed, len(w.WaitErrors))] {
		out = append(out, one.Check)
	}
	return out
}

// awaitHook has the app enqueued when one of its hooks has ended; nil for none.
func (e *Engine) awaitHook(key app.Key, wait *hookWaitError) {
	had := e.releaseWaits.hook(key)
	if had == nil && wait == nil {
		return
	}
	e.releaseWaits.await(key, wait)
	if e.Follow == nil || slices.Equal(had.checks(), wait.checks()) {
		return
	}
	e.follow(key, nil)
}

// OnCheckEvent is called with what a watch of FollowChecks shows of an object, before ReadChecks: it may be gone by then.
func (e *Engine) OnCheckEvent(key app.Key, o object.Object) { e.releaseWaits.observe(key, o) }

// follow has Follow watch what an app waits for: checks of objects of others, and its hook.
func (e *Engine) follow(key app.Key, checks []health.Check) {
	if e.Follow == nil {
		return
	}
	checks = append(checks, e.releaseWaits.hook(key).checks()...)
	e.Follow.FollowChecks(key, checks)
}

// awaitHealthy waits for the objects of the release. The error is AwaitingHealth while they are not healthy: an event enqueues the app.
func (r *appRun) awaitHealthy() error {
	_, how := r.action()
	if how.Wait == hook.WaitForNothing {
		return nil
	}
	return r.awaitObjects(objectWait{revision: r.chart.stored[0].Revision, wait: how.Wait}, how.Timeout)
}

// awaitObjects waits for objects of the app, without an end where there is no timeout.
func (r *appRun) awaitObjects(wait objectWait, timeout time.Duration) error {
	e, key := r.engine, r.app.Key
	now := e.Now()
	since := e.releaseWaits.waitsForObjects(key, wait, now) // before the objects are looked at: what changes behind that enqueues the app
	pending, failed := e.unhealthy(key, wait)
	left := since.Add(timeout).Sub(now)
	switch {
	case failed == nil && len(pending) == 0:
		e.releaseWaits.waitsNoMore(key)
		return nil
	case failed != nil:
		e.releaseWaits.waitsNoMore(key)
		return &stageError{report.HealthFailed, fmt.Errorf("%s: %s", failed.ID, failed.Health.Message)}
	case timeout > 0 && left <= 0:
		e.releaseWaits.waitsNoMore(key)
		return &stageError{report.HealthFailed, fmt.Errorf("timeout waiting for %s: %s", pendingText(pending), pending[0].HealthStatus().Message)}
	}
	if r.report.Again = 0; timeout > 0 {
		r.report.Again = max(left, minWait)
	}
	return &stageError{report.AwaitingHealth, errors.New("waiting for " + pendingText(pending))}
}

func pendingText(all []report.Object) string {
	if len(all) == 1 {
		return all[0].ID.String()
	}
	return fmt.Sprintf("%s and %d more", all[0].ID, len(all)-1)
}

// unhealthy returns the objects of an app that are waited for, and the first that has failed.
func (e *Engine) unhealthy(key app.Key, w objectWait) (pending []report.Object, failed *report.Object) {
	s := e.knownApp(key)
	if s == nil {
		return nil, nil
	}
	for _, id := range s.objects() {
		rec := e.lookup(id)
		if rec == nil || w.wait == hook.WaitButForJobs && isJobKind(id) || w.only != nil && !w.only[id] {
			continue
		}
		o := rec.view()
		if o.HealthStatus().Code == health.Degraded {
			return pending, &o
		}
		if w.awaits(o) {
			pending = append(pending, o)
		}
	}
	return pending, nil
}

// awaits reports whether an object that has not failed is waited for: also one that healthCheckExprs cannot judge yet, for want of a status.
func (w objectWait) awaits(o report.Object) bool {
	switch o.HealthStatus().Code {
	case health.Progressing, health.Missing:
		return true
	case health.Unknown:
		return o.Problem == ""
	case health.Suspended:
		return w.wait == hook.WaitForResumed
	default:
		return false
	}
}

func isJobKind(id object.ID) bool { return id.Group == "batch" && id.Kind == "Job" }

// healthChanged enqueues an app whose release waits for its objects, when they are healthy or one has failed.
func (e *Engine) healthChanged(key app.Key) {
	w := &e.releaseWaits
	w.mu.Lock()
	one := w.all[key]
	waits := one != nil && !one.objects.IsZero()
	var wait objectWait
	if waits {
		wait = one.objectWait
	}
	w.mu.Unlock()
	if !waits {
		return
	}
	if pending, failed := e.unhealthy(key, wait); failed != nil || len(pending) == 0 {
		e.queue.EnqueueApp(key)
	}
}
