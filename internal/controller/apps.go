package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// appEntry is one app's custom resource.
type appEntry struct {
	front           dialect.Apps
	gvk             object.GVK
	kept            object.Packed    // the custom resource
	cr              object.Object    // the same: only in what begin and entry return
	asks            request          // of kept
	app             app.App          // as kept says, and as the order that was taken up wants it
	wants           app.SyncRequest  // of kept, and not taken up yet
	order           app.SyncRequest  // that was taken up and has not ended
	failed          int              // runs in a row
	blocked         bool             // it cannot be run: its custom resource may not be written
	obstacle        obstacle         // to its newest run
	version         uint64           // resourceVersion of kept
	confirmed       int              // the era in which a read of the app itself has shown it (confirmApp)
	wrote           digest           // of the status that was written last
	tooLarge        int              // bytes from which on a status is too large for the API server, as it has answered; 0 for none
	due             time.Time        // of the next full check: an older timer is not answered; zero for at once
	begun           time.Time        // of the run that is under way; zero for none
	statusWrittenAt time.Time        // of the last status write
	news            reportedNews     // the newest
	progress        string           // the revision of which it was reported last that it is being brought out
	trouble         string           // its health, where it is degraded, as it was reported last
	opened          time.Time        // when the newest matter of a message about it has opened
	open            openMatters      // that the receiver of Events has heard of
	said            *writtenRevision // what the status that was written last says of the revision; nil for none
	slot            time.Time        // when a status may be written that says no more than that the revision has moved; zero for none
}

func (c *Controller) onAppEvent(f dialect.Apps, ev live.Event) {
	seen, err := c.observeApp(&appEntry{front: f}, ev)
	key := seen.app.Key
	if err != nil { // it was JSON a moment ago
		c.Log.Error("keep", "app", key.String(), "error", err.Error())
		return
	}
	c.mu.Lock()
	e := c.appSet[key]
	if ev.Gone {
		var read app.SourceKey
		if e != nil {
			read = e.app.Source
		}
		delete(c.appSet, key)
		c.mu.Unlock()
		c.forgetMatters(ev.Object)
		c.detachSource(read)
		c.apps.Add(key)
		c.dependencyChanged(ev.ID)
		return
	}
	if e == nil {
		e = &appEntry{front: f, gvk: ev.GVK}
		c.appSet[key] = e
	}
	changed := c.replaceEntry(e, seen)
	c.mu.Unlock()
	c.followChange(ev.ID, changed)
}

// reconcileApp runs one app, and says when its next full check is due.
func (c *Controller) reconcileApp(ctx context.Context, key app.Key) time.Duration {
	e, again, ok := c.beginRun(ctx, key)
	if !ok {
		return again
	}
	if wait := time.Until(e.due); !e.due.IsZero() && wait > 0 && !c.newRevision(e.app) {
		return wait
	}
	var err error
	if e.app, err = c.route(ctx, e.app); errors.Is(err, errLocated) {
		return 0
	}
	if c.noteObstacle(key, "kubeconfig", err); err != nil {
		return retryObject
	}
	if wait := c.confirmApp(ctx, e); wait > 0 {
		return wait
	}
	if wait := c.waitForProjects(e.app); wait > 0 {
		return wait
	}
	switch {
	case e.app.DeletionPaused:
		c.terminations.end(key) // the deletion begins again when it is resumed
	case e.app.Deleting:
		return c.deleteApp(ctx, e)
	}
	e, wait := c.beginSyncRequest(ctx, e)
	if wait > 0 {
		return wait
	}
	e.app = e.app.WithinWindows(time.Now())
	if wait := c.awaitSource(e.app.Source); wait > 0 {
		return wait
	}
	if c.isComing(ctx, e.app.Source) {
		return comingPause
	}
	switch err := c.ensureFinalizer(ctx, e); {
	case apierrors.IsConflict(err):
		return c.conflicts.When(key) // the watch is about to bring the newer form
	case errors.Is(err, errGone):
		return retryGone
	case err != nil:
		c.noteObstacle(key, "finalizer", err)
		c.setBlocked(key, true)
		return retryObject
	}
	c.noteObstacle(key, "finalizer", nil)
	c.setBlocked(key, false)
	r := c.runApp(ctx, c.withNoteOfLack(e))
	if wait := c.endRelease(ctx, e, r); wait > 0 {
		return wait
	}
	if wait := c.markEndHooks(ctx, key, r); wait > 0 {
		return wait
	}
	return c.schedule(key, e.app, r)
}

// setBlocked notes whether an app cannot be run, since its custom resource may not be written: no other app waits for it meanwhile.
func (c *Controller) setBlocked(key app.Key, blocked bool) {
	c.mu.Lock()
	e := c.appSet[key]
	changed := e != nil && e.blocked != blocked
	if changed {
		e.blocked = blocked
	}
	c.mu.Unlock()
	if changed && blocked {
		c.engineOf(key).PeerChanged(key)
	}
}

// beginRun returns the app as it is asked for now. What is asked from here on makes due zero again, and is not lost at the end of
// the run (schedule). It ends an app whose custom resource is gone first, also where there is another one of its name already: what the engine knows of
// the one says nothing about the other. It returns false where there is no app to run, or the other one cannot be ended yet.
func (c *Controller) beginRun(ctx context.Context, key app.Key) (asked appEntry, again time.Duration, ok bool) {
	if uid, there := c.uidOf(key); !there || c.isEarlier(key, uid) {
		if again := c.forgetApp(ctx, key); again > 0 || !there {
			return appEntry{}, again, false
		}
	}
	c.engineOf(key).BeginRun(key)
	c.mu.Lock()
	e := c.appSet[key]
	if e == nil {
		c.mu.Unlock()
		return appEntry{}, 0, false // it is enqueued again
	}
	asked = *e
	if e.due.IsZero() {
		e.due = time.Now()
	}
	c.mu.Unlock()
	return c.withResource(asked), 0, true
}

// uidOf is the uid of an app's custom resource; false where there is none.
func (c *Controller) uidOf(key app.Key) (uid string, there bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.appSet[key]; e != nil {
		return e.asks.uid, true
	}
	return "", false
}

// The pauses before a custom resource is written again that another client has just written: the first, doubled until the watch has brought the newer
// form, and the longest.
const (
	retryConflict     = 20 * time.Millisecond
	mostConflictPause = time.Second
)

func (c *Controller) runApp(ctx context.Context, a app.App) report.Report {
	if a.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.Timeout)
		defer cancel()
	}
	begin := time.Now()
	c.setRunningSince(a.Key, begin)
	r := c.engineOf(a.Key).App(ctx, c.withFetch(a))
	c.setRunningSince(a.Key, time.Time{})
	c.peerElsewhere(a.Key)
	took := time.Since(begin)
	c.Observer.OnRun(r, took)
	c.Log.Info("app", "app", a.Key.String(), "revision", r.Revision, "stage", string(r.Stage), "reason", string(r.Reason),
		"message", r.Message, "took", took.Round(time.Millisecond).String())
	return r
}

func (c *Controller) setRunningSince(key app.Key, since time.Time) {
	c.mu.Lock()
	if e := c.appSet[key]; e != nil {
		e.begun = since
	}
	c.mu.Unlock()
	if since.IsZero() {
		c.AppChanged(key)
	}
}

// schedule sets the next full check, unless one was requested during the run. A source that is not ready wakes its
// apps itself.
func (c *Controller) schedule(key app.Key, a app.App, r report.Report) time.Duration {
	wait, read, now := c.scheduleNextRun(key, a, r)
	if now.Source != read {
		c.attachSource(key)
		c.detachSource(read)
	}
	return wait
}

// scheduleNextRun sets when the app is due, and returns how long that is, from which source the app was read, and the app as it is from now on.
func (c *Controller) scheduleNextRun(key app.Key, a app.App, r report.Report) (wait time.Duration, read app.SourceKey, now app.App) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.appSet[key]
	if e == nil {
		return 0, read, now
	}
	wait, read = e.pause(a, r), e.app.Source
	if next := c.finishSyncRequest(e, r, wait); wait == 0 || next < wait {
		wait = next
	}
	if window := a.NextWindow(time.Now()); !window.IsZero() && (wait == 0 || time.Until(window) < wait) {
		wait = max(time.Until(window), time.Millisecond)
	}
	if wait > 0 && !e.due.IsZero() {
		e.due = time.Now().Add(wait)
	}
	return wait, read, e.app
}

// newRevision reports whether the app's source has what the app has not seen.
func (c *Controller) newRevision(a app.App) bool {
	engine := c.engineOf(a.Key)
	_, stage := engine.LastAttempt(a.Key)
	artifact, err := c.Artifact(a.Source)
	if err != nil {
		return stage == report.Done
	}
	return !engine.HasAttempted(a.Key, artifact) || stage == report.Fetch
}

// isEarlier reports whether the newest run of an app was that of a custom resource with another uid, which was deleted.
func (c *Controller) isEarlier(key app.Key, uid string) bool {
	ran := c.engineOf(key).LastUID(key)
	return ran != "" && ran != uid
}

// forgetApp ends an app whose custom resource is gone. It had no finalizer if its objects are to stay.
func (c *Controller) forgetApp(ctx context.Context, key app.Key) time.Duration {
	c.terminations.end(key)
	if err := c.engineOf(key).Forget(ctx, key); err != nil {
		c.Log.Warn("forget", "app", key.String(), "error", err.Error())
		return retryObject
	}
	c.targets.follower.follow(key, nil)
	c.dependents.forget(key)
	c.conflicts.Forget(key)
	c.forgetLocation(key)
	c.targets.move(key, c.targets.own)
	return 0
}

func (c *Controller) deleteApp(ctx context.Context, e appEntry) time.Duration {
	if !slices.ContainsFunc(e.cr.Finalizers(), e.app.HasFinalizer) {
		return 0
	}
	keeps := e.app.HasFinalizer
	if e.app.Policy.Mode == policy.Observe {
		ours, err := c.engineOf(e.app.Key).HasInventory(ctx, e.app.Key)
		if err != nil {
			c.Log.Warn("remove", "app", e.app.Key.String(), "error", err.Error())
			return retryObject
		}
		if !ours || e.app.Adoption.Lost != "" { // the other finalizer is another controller's, and what it stands for
			keeps = func(name string) bool { return name == e.app.OwnFinalizer }
		}
		if !ours {
			return max(c.forgetApp(ctx, e.app.Key), c.removeFinalizers(ctx, e, keeps))
		}
	}
	if wait := c.awaitEndHooks(e); wait > 0 {
		return wait
	}
	if c.terminations.isOverdue(e.app.Key) {
		e.app.AwaitTermination = false
		c.emitDeletion(e, nil, report.InProgress)
	}
	deleted, awaited, err := c.engineOf(e.app.Key).Remove(ctx, e.app)
	var waits hooks.WaitErrors
	if errors.As(err, &waits) {
		c.reportDeletion(ctx, e, report.InProgress, waits.Error())
		return untilLookedAgain(e, waits)
	}
	if err != nil {
		c.emitDeletion(e, deleted, report.PruneFailed)
		c.Log.Warn("remove", "app", e.app.Key.String(), "error", err.Error())
		c.reportStuckDeletion(ctx, e, err)
		return pauseOfDeletion(e, err)
	}
	c.emitDeletion(e, deleted, report.Succeeded)
	if len(awaited) > 0 {
		return c.awaitTermination(ctx, e, awaited)
	}
	c.terminations.end(e.app.Key)
	return c.endDeletion(ctx, e, keeps)
}

// endDeletion takes the finalizers off the custom resource of an app that is removed, and then forgets how its hooks have run.
func (c *Controller) endDeletion(ctx context.Context, e appEntry, keeps func(string) bool) time.Duration {
	if err := c.deleteLeftCharts(ctx, e); err != nil {
		c.Log.Warn("remove", "app", e.app.Key.String(), "error", err.Error())
		c.reportStuckDeletion(ctx, e, err)
		return retryObject
	}
	if again := c.removeFinalizers(ctx, e, keeps); again > 0 {
		return again
	}
	if err := c.engineOf(e.app.Key).EndRemoval(ctx, e.app); err != nil {
		c.Log.Warn("remove", "app", e.app.Key.String(), "error", err.Error()) // what is left says nothing about a later app of this name
	}
	return 0
}

// reportStuckDeletion says on a custom resource that is being deleted why it is still there.
func (c *Controller) reportStuckDeletion(ctx context.Context, e appEntry, why error) {
	c.reportDeletion(ctx, e, report.PruneFailed, redact.MaskText(why.Error()))
}

// reportDeletion says on a custom resource how its deletion stands.
func (c *Controller) reportDeletion(ctx context.Context, e appEntry, reason report.Reason, message string) {
	now := time.Now()
	r := report.Report{App: e.app.Key, Generation: e.app.Generation, Stage: report.Admit, Reason: reason, Message: message, At: now, Seen: now}
	r.Request = e.app.Request
	if _, err := c.answer(ctx, e, r); err != nil && !apierrors.IsConflict(err) && !errors.Is(err, errGone) {
		c.Log.Warn("status", "app", e.app.Key.String(), "error", err.Error())
	}
}

func (c *Controller) entry(key app.Key) (appEntry, bool) {
	c.mu.RLock()
	e := c.appSet[key]
	if e == nil {
		c.mu.RUnlock()
		return appEntry{}, false
	}
	found := *e
	c.mu.RUnlock()
	return c.withResource(found), true
}
