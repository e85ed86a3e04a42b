package reconcile

import (
	"maps"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// failures are the objects of apps that said themselves that they failed, and have not worked since, and since when: an app that waits for health
// corrects no drift that began later. Its lock is held across no other one.
type failures struct {
	mu      sync.Mutex
	since   sinces
	changed map[app.Key]bool // since failuresChanged has looked last
	// unready are all objects that are not healthy, whether they have failed or not.
	unready sinces
	// inherited are the failures that custom resources remembered when this process began, and still do.
	inherited map[app.Key]inheritedFailure
}

// inheritedFailure is the failure of an app before this process: that of each of its objects that neither works nor has failed since.
type inheritedFailure struct {
	since time.Time
	over  map[object.ID]bool // objects that have worked or were gone since, or of which Git's change was applied
}

// sinces are objects of apps, with since when something is so of them.
type sinces map[app.Key]map[object.ID]time.Time

// note takes in the health of an object.
func (f *failures) note(key app.Key, id object.ID, code health.Code, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
	f.unready.set(key, id, timeWhere(code.IsAwaited(), now))
	before := f.inherited[key]
	if code == health.Progressing || code == health.Unknown { // a container that crashes runs for a moment each time, and what a person tries has to roll out
		if !before.since.IsZero() && !before.over[id] && f.since.set(key, id, before.since) {
			f.changed[key] = true
		}
		return
	}
	if code == health.Degraded && !before.since.IsZero() && !before.over[id] {
		now = before.since // an earlier process has seen it
	}
	if before.over != nil && code != health.Degraded {
		before.over[id] = true
	}
	if f.since.set(key, id, timeWhere(code == health.Degraded, now)) {
		f.changed[key] = true
	}
}

// renew takes in that Git's change of an object was applied, or that it was created again: what it did before says nothing of what it does now.
func (f *failures) renew(key app.Key, id object.ID, code health.Code, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
	if before := f.inherited[key]; before.over != nil {
		before.over[id] = true
	}
	if f.since.set(key, id, time.Time{}) {
		f.since.set(key, id, timeWhere(code == health.Degraded, now))
		f.changed[key] = true
	}
}

// inherit takes in what the custom resource of an app remembers when a run begins. What it says after the first run of this process is about failures
// that this process has seen itself.
func (f *failures) inherit(a app.App, isFirst bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
	switch {
	case a.FailedSince.IsZero():
		delete(f.inherited, a.Key)
	case isFirst:
		f.inherited[a.Key] = inheritedFailure{a.FailedSince, map[object.ID]bool{}}
	}
}

// begin makes the maps. The caller holds mu.
func (f *failures) begin() {
	if f.since == nil {
		f.since, f.changed, f.unready, f.inherited = sinces{}, map[app.Key]bool{}, sinces{}, map[app.Key]inheritedFailure{}
	}
}

// reconsider takes in that the app waits for the health of other objects than before.
func (f *failures) reconsider(key app.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
	f.changed[key] = true
}

// restart takes in that the app waits for the health of an object again: where it is not healthy, that counts from now.
func (f *failures) restart(key app.Key, id object.ID, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
	f.changed[key] = true
	for _, s := range []sinces{f.since, f.unready} {
		if _, known := s[key][id]; known {
			s[key][id] = now
		}
	}
}

// timeWhere is a time if something is so, and zero if it is not.
func timeWhere(so bool, t time.Time) time.Time {
	if so {
		return t
	}
	return time.Time{}
}

// set keeps that it is so of an object at a time, or at none, and reports whether that has changed. The time is that of the first call; see restart.
func (s sinces) set(key app.Key, id object.ID, at time.Time) bool {
	_, known := s[key][id]
	switch {
	case known != at.IsZero():
		return false
	case known:
		if delete(s[key], id); len(s[key]) == 0 {
			delete(s, key)
		}
		return true
	case s[key] == nil:
		s[key] = map[object.ID]time.Time{}
	}
	s[key][id] = at
	return true
}

// takeChanged reports whether an object of the app has failed, or works again, since it was asked last.
func (f *failures) takeChanged(key app.Key) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := f.changed[key]
	delete(f.changed, key)
	return changed
}

// drop takes in that the app does not have an object any more.
func (f *failures) drop(key app.Key, id object.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begin()
	f.unready.set(key, id, time.Time{})
	if f.since.set(key, id, time.Time{}) {
		f.changed[key] = true
	}
}

func (f *failures) forget(key app.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.since, key)
	delete(f.changed, key)
	delete(f.unready, key)
	delete(f.inherited, key)
}

// of returns the objects of an app that have failed, with since when.
func (f *failures) of(key app.Key) map[object.ID]time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.since[key])
}

// unreadyOf returns the objects of an app that are not healthy, with since when.
func (f *failures) unreadyOf(key app.Key) map[object.ID]time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.unready[key])
}

// unreadySince returns since when there is an object that is not healthy among those for which an app waits; zero where all are, and for an app that waits for none.
func (e *Engine) unreadySince(a app.App) time.Time {
	var first time.Time
	if a.Wait != app.WaitHealthy {
		return first
	}
	for id, since := range e.failures.unreadyOf(a.Key) {
		if now, checks := e.checkedHealth(a, id); !checks || !now.Code.IsAwaited() {
			continue
		}
		if first.IsZero() || since.Before(first) {
			first = since
		}
	}
	return first
}

// failureOf returns the health check of an app that has failed first; its zero value where none has, and for an app that waits for no health.
func (e *Engine) failureOf(a app.App) health.Failure {
	var first health.Failure
	if a.Wait != app.WaitHealthy {
		return first
	}
	for id, since := range e.failures.of(a.Key) {
		now, checks := e.checkedHealth(a, id)
		if !checks || !now.Code.IsAwaited() {
			continue
		}
		if first.Since.IsZero() || since.Before(first.Since) || since.Equal(first.Since) && id.Compare(first.ID) < 0 {
			first = health.Failure{ID: id, Cause: now.Message, Since: since}
		}
	}
	if first.Since.IsZero() && !a.FailedSince.IsZero() && e.state(a.Key).checks.presumeFailed() {
		first.Since = a.FailedSince
	}
	return first
}

// failure returns the failed health check that may hold the drift of the object. One that had failed itself and was deleted has its own, whatever else has failed.
func (w *objectReconcile) failure() health.Failure {
	first := w.engine.failureOf(w.app)
	if w.live != nil || first.Since.IsZero() {
		return first
	}
	if since, failed := w.engine.failures.of(w.app.Key)[w.managed.id]; failed {
		return health.Failure{ID: w.managed.id, Since: since}
	}
	return first
}

// presumeFailed reports whether no run of this process has come to the objects yet: until then the custom resource alone says whether a health check fails.
func (c *healthChecks) presumeFailed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.presumed = c.presumed || !c.assessed
	return !c.assessed
}

// assessedObjects has what was held on the word of the custom resource judged again: the health of the app's objects is known now.
func (e *Engine) assessedObjects(key app.Key) {
	c := &e.state(key).checks
	c.mu.Lock()
	again := c.presumed
	c.presumed, c.assessed = false, true
	c.mu.Unlock()
	if again {
		e.judgeOpenAgain(key)
	}
}

// checkedHealth returns the health of an object, and whether it is one by which the app is judged.
func (e *Engine) checkedHealth(a app.App, id object.ID) (health.Status, bool) {
	c := &e.state(a.Key).checks
	c.mu.Lock()
	listed, all := false, len(a.HealthChecks) == 0
	for _, check := range c.all {
		listed = listed || check.ID == id
	}
	foreign := c.found[id]
	c.mu.Unlock()
	own := e.ownObject(a.Key, id)
	switch {
	case !listed && !all:
		return health.Status{}, false
	case own == nil:
		return foreign, listed
	}
	now, counts := own.checkedHealth(a)
	return now, listed || counts
}

// checkedHealth returns the health of an object of an app, and whether an app that is judged by all of its objects is judged by it: not where it is the app's own
// custom resource, whose health is that of the app, nor where it has opted out.
func (r *managedObject) checkedHealth(a app.App) (health.Status, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.currentHealth(), !r.isOptedOut() && (a.UID == "" || r.uid != a.UID)
}

// failuresChanged has the differences of an app judged again that were left, if one of its objects has failed or works again.
func (e *Engine) failuresChanged(key app.Key) {
	if e.failures.takeChanged(key) {
		e.judgeOpenAgain(key)
	}
}

// judgeOpenAgain has the differences of an app judged again that were left: whether they are held may have changed, or why.
func (e *Engine) judgeOpenAgain(key app.Key) {
	s := e.knownApp(key)
	if s == nil {
		return
	}
	s.mu.Lock()
	waits := s.app.Wait == app.WaitHealthy
	s.mu.Unlock()
	if !waits {
		return
	}
	for _, id := range s.objects() {
		if r := e.lookup(id); r != nil && r.hasOpenFindings() {
			e.queue.Enqueue(id)
		}
	}
}

// hasOpenFindings reports whether a difference was left, and has the object judged again in that case.
func (r *managedObject) hasOpenFindings() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forced = r.forced || len(r.open) > 0
	return len(r.open) > 0
}
