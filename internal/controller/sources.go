package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// sourceEntry is one source's custom resource, and what came of it. An attached one has none of its own; see attach.
type sourceEntry struct {
	front dialect.Sources
	cr    object.Object

	attached bool
	base     app.SourceKey // of which it is another revision
	from     app.SourceKey // of which it is a chart (HelmChart), or by which it is made (ExternalArtifact)
	includes []app.SourceKey
	parts    []app.Part // of which it is made, with includes; none for other sources
	together string     // what was put together in the artifact; see include
	reader   app.Key    // an app that names it itself
	other    string     // the controller that works on it instead of truce (ArtifactGenerator); empty for none
	wanted   time.Time  // when an app has asked for a look that was not made yet; zero for none
	builds   builds     // of an ArtifactGenerator

	state dialect.SourceState
	local context.CancelFunc // ends the watch of a local repository; nil for none
	url   string             // that local watches
	wrote digest             // of the status that was written last

	refused refusedLogin
	outcome sourceOutcome // that Events have reported; zero for what the status says that was found
}

func (c *Controller) onSourceEvent(f dialect.Sources, ev live.Event) {
	s := f.Source(ev.Object)
	c.mu.Lock()
	e := c.sourceSet[s.Key]
	switch {
	case ev.Gone && e != nil:
		e.stop()
		delete(c.sourceSet, s.Key)
		including := c.including(s.Key)
		if e.from.Kind == artifactGenerator {
			including = append(including, e.from) // which makes it again, if it is to; the event may be of a list, without what was in it
		}
		c.mu.Unlock()
		c.forgetMatters(ev.Object)
		c.enqueueSources(including)
		return
	case ev.Gone:
		c.mu.Unlock()
		return
	case e == nil:
		e = &sourceEntry{front: f}
		c.sourceSet[s.Key] = e
	}
	news := e.cr == nil || asksAgain(f.Source(e.cr), s) || generatedMode(e.cr) != generatedMode(ev.Object)
	remade := s.Maker != (app.SourceKey{}) && (e.cr == nil || !sameMetadata(e.cr, ev.Object))
	e.cr, e.includes, e.from, e.other = ev.Object, includedSources(s), originOf(s), s.Other
	var all []app.SourceKey
	for key, other := range c.sourceSet {
		if key == s.Key || other.base == s.Key || other.from == s.Key {
			all = append(all, key)
		}
	}
	c.mu.Unlock()
	for _, key := range all {
		if news {
			c.sources.Add(key)
		}
	}
	if remade {
		c.sources.Add(s.Maker)
	}
}

// Artifact returns the newest artifact of a source; that there is none yet is an error that says why.
func (c *Controller) Artifact(key app.SourceKey) (source.Artifact, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.sourceSet[key]
	switch {
	case e == nil && !c.Namespaces.Cover(key.Namespace):
		return source.Artifact{}, fmt.Errorf("%s is in a namespace that this truce does not work for (--namespace)", key)
	case e == nil:
		if err := c.unlisted(key.Kind); err != nil {
			return source.Artifact{}, fmt.Errorf("%s is not known: %w", key, err)
		}
		return source.Artifact{}, fmt.Errorf("%s is not in the cluster", key)
	case e.state.Artifact.Files != nil && (key.Chart == "" || !refusesChart(e.state.Err)):
		return e.state.Artifact, nil
	case e.state.Err != nil:
		return source.Artifact{}, fmt.Errorf("%s: %w", key, e.state.Err)
	}
	return source.Artifact{}, fmt.Errorf("%s has not been fetched yet", key)
}

// Artifacts returns the newest artifact of each source that has one.
func (c *Controller) Artifacts() []source.Artifact {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []source.Artifact
	for _, e := range c.sourceSet {
		if e.state.Artifact.Files != nil {
			out = append(out, e.state.Artifact)
		}
		for _, m := range e.state.Generated.Made {
			out = append(out, m.Artifact)
		}
	}
	return out
}

// awaitSource is how long an app should wait before it asks again for a source of which nothing is known yet: at a start, that it
// was not listed or fetched so far is no failure to report. The first look at a source wakes its apps before that.
func (c *Controller) awaitSource(key app.SourceKey) time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	e := c.sourceSet[key]
	if e != nil {
		asked := !e.wanted.IsZero() && (e.cr == nil || !e.front.Source(e.cr).Suspended)
		if asked || e.state.Artifact.Files == nil && e.state.Err == nil {
			return comingPause
		}
		return 0
	}
	if c.isListing() {
		return listingWait
	}
	return 0
}

// comingPause is the pause of what waits for a source that is known to come.
const comingPause = time.Second

// listingWait is the longest pause of an app whose source may be about to be listed: the end of the list enqueues the app.
const listingWait = time.Minute

// enqueueListed enqueues the apps and sources that may have waited for it, when a watch of sources has been listed or cannot be.
func (c *Controller) enqueueListed(ctx context.Context, w live.Watch) {
	if err := live.AwaitListed(ctx, w, isPermanentWatchError); err != nil && ctx.Err() != nil {
		return
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	for key, e := range c.appSet {
		if c.sourceSet[e.app.Source] == nil || c.sourceSet[e.app.Source].cr == nil {
			c.apps.Add(key)
		}
	}
	for key, e := range c.sourceSet {
		if e.cr == nil || e.from != (app.SourceKey{}) && c.sourceSet[e.from] == nil || key.Kind == artifactGenerator {
			c.sources.Add(key)
		}
	}
}

// isListing reports whether more sources are about to be known. The caller holds mu.
func (c *Controller) isListing() bool {
	return slices.ContainsFunc(c.sourceWatches, func(w sourceWatch) bool {
		select {
		case <-w.Synced():
			return false
		default:
			return !isPermanentWatchError(w.Err())
		}
	})
}

// isPermanentWatchError reports whether sources cannot be listed until the cluster is changed.
func isPermanentWatchError(err error) bool {
	return errors.Is(err, live.ErrUnknownKind) || apierrors.IsForbidden(err)
}

// sourceWatch is the watch of one kind of sources.
type sourceWatch struct {
	live.Watch
	kind string
}

// unlisted is why sources of a kind are not known; nil where they are, or are about to be. The caller holds mu.
func (c *Controller) unlisted(kind string) error {
	for _, w := range c.sourceWatches {
		if w.kind != kind {
			continue
		}
		select {
		case <-w.Synced():
		default:
			if err := w.Err(); isPermanentWatchError(err) {
				return err
			}
		}
	}
	return nil
}

// Readers returns the apps that read a source and can be run: not those that are suspended or deleted, nor those whose custom resource may not
// be written.
func (c *Controller) Readers(key app.SourceKey) []app.Key {
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []app.Key
	for k, a := range c.appSet {
		if a.app.Source == key && a.isRunnable() {
			out = append(out, k)
		}
	}
	return out
}

// reconcileSource looks for a new revision of one source.
func (c *Controller) reconcileSource(ctx context.Context, key app.SourceKey) time.Duration {
	if key.IsJoined() {
		return c.joinSources(ctx, key)
	}
	f, cr := c.sourceResource(key)
	if cr == nil {
		return c.reportUnknown(ctx, key)
	}
	s := f.Source(cr)
	switch {
	case s.Recipe != nil:
		return c.reconcileGenerator(ctx, cr, s)
	case s.Deleting:
		return max(c.reportUnfetched(key, "is being deleted"), c.releaseDeleted(ctx, key, cr, s))
	}
	if s.Key = key; s.Suspended {
		return c.reconcileSuspended(ctx, f, cr, s)
	}
	if s.Static && key.IsOwn() {
		_ = c.setSourceState(ctx, key, s.UID, dialect.SourceState{Generation: s.Generation, Request: s.Request, At: time.Now()}) // logged, and written with its next change
		return 0
	}
	if key.Chart != "" && !s.Static && c.awaitIndex(key) {
		return 0 // the first look at the index has the chart looked for
	}
	if s.Chart != nil && c.awaitChartSource(s) {
		return listingWait // the first look at its source has it looked for
	}
	if c.awaitGenerated(s) {
		return listingWait // the first look at its maker has it looked for
	}
	begin, refused := time.Now(), c.refused(s).err
	next := c.fetch(ctx, f, cr, s)
	c.reportFetch(key, begin, refused, next.Err)
	untold := c.setSourceState(ctx, key, s.UID, next)
	if next.Err != nil || untold != nil && !apierrors.IsForbidden(untold) && !apierrors.IsInvalid(untold) {
		return min(retrySource, max(s.Interval, time.Second))
	}
	if isPinnedToCommit(key) {
		return 0
	}
	return c.lookInterval(key, s.Interval)
}

// retrySource is the pause after a fetch that failed or could not be reported, where the interval is not shorter.
const retrySource = 15 * time.Second

// entryOf returns the entry of a source, in which the outcome of a look is kept; nil if there is none, or another custom resource of the same name, with
// another uid, says by now what the source is: that one is looked at by itself. The uid is empty for what was found without a custom resource. The caller holds mu.
func (c *Controller) entryOf(key app.SourceKey, uid string) *sourceEntry {
	e := c.sourceSet[key]
	if e == nil {
		return nil
	}
	if cr := c.defining(e).cr; uid != "" && cr != nil && cr.UID() != uid {
		return nil
	}
	return e
}

// setSourceState keeps the outcome, and writes the status of the source. The error is that it could not be written.
func (c *Controller) setSourceState(ctx context.Context, key app.SourceKey, uid string, next dialect.SourceState) error {
	if !c.keepSourceState(key, uid, next) {
		return nil
	}
	return c.writeSourceStatus(ctx, key)
}

// keepSourceState keeps the outcome of a look at the custom resource with a uid, and reports whether that is still the one that says what the source is (entryOf).
// A failed fetch keeps the artifact that was there, or the last verified one that it found; a new revision enqueues the apps.
func (c *Controller) keepSourceState(key app.SourceKey, uid string, next dialect.SourceState) (kept bool) {
	c.mu.Lock()
	e := c.entryOf(key, uid)
	if e == nil {
		c.mu.Unlock()
		return false
	}
	news := next.Err == nil && (e.state.Artifact.Digest != next.Artifact.Digest || e.state.Artifact.Revision != next.Artifact.Revision)
	first := (e.state.Err == nil) != (next.Err == nil) && (e.state.Artifact.Files == nil || e.cr == nil) // see withFetch
	if !e.wanted.IsZero() && !next.At.Before(e.wanted) {
		e.wanted, first = time.Time{}, true
	}
	next = withArtifact(next, e.state)
	again := first && next.Err != nil || hasAnotherCause(e.state, next) // an app that came before its source says that there is none
	including := c.concerned(key, e.state, next)
	including = append(including, c.joinedFrom(key, first)...)
	e.state = next
	var apps []app.Key
	if news || first || next.Err != nil {
		apps = c.readersOf(key, again)
	}
	c.mu.Unlock()
	if news {
		c.expectCharts(key)
		c.enqueueChangedFirst(apps, next.Artifact)
	} else {
		c.enqueueApps(apps)
	}
	c.enqueueSources(including)
	for _, t := range c.targets.all() {
		t.engine.SourceLooked(key)
	}
	return true
}

// withArtifact is an outcome with the artifact that was there, if it is a failure that has found none.
func withArtifact(next, had dialect.SourceState) dialect.SourceState {
	if next.Err != nil && (next.Artifact.Files == nil || had.Artifact.Files != nil) {
		next.Artifact, next.Inputs, next.Made, next.Generated = had.Artifact, had.Inputs, had.Made, had.Generated
	}
	return next
}

// enqueueChangedFirst enqueues the apps of a new revision, those first that it may change: behind hundreds of others they would wait for as many
// status writes.
func (c *Controller) enqueueChangedFirst(apps []app.Key, a source.Artifact) {
	for _, k := range apps {
		c.engineOf(k).Supersede(k)
	}
	var others []app.Key
	for _, k := range apps {
		if c.engineOf(k).MayChange(k, a) {
			c.apps.Add(k)
		} else {
			others = append(others, k)
		}
	}
	c.enqueueApps(others)
}

func (c *Controller) enqueueApps(apps []app.Key) {
	for _, k := range apps {
		c.apps.Add(k)
	}
}

// lookInterval is the shortest of the source's own interval and those that apps ask for (syncInterval of the documents).
func (c *Controller) lookInterval(key app.SourceKey, own time.Duration) time.Duration {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, a := range c.appSet {
		if a.app.Source == key && a.app.SourceInterval > 0 {
			own = min(own, a.app.SourceInterval)
		}
	}
	return own
}

// watchLocal looks at once when a repository on this machine changes.
func (c *Controller) watchLocal(ctx context.Context, key app.SourceKey, url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sourceSet[key]
	if e == nil || e.url == url || c.Local == nil {
		return
	}
	if e.local != nil {
		e.local()
	}
	watchCtx, cancel := context.WithCancel(ctx)
	e.local, e.url = cancel, url
	go func() {
		var err error
		c.recoverPanic("local repository", key.String(), func() { err = c.Local.Watch(watchCtx, url, func() { c.sources.Add(key) }) })
		if err != nil && !errors.Is(err, source.ErrNotLocal) && watchCtx.Err() == nil {
			c.Log.Warn("watch repository", "source", key.String(), "error", err.Error())
			c.forgetWatch(key) // the next look, at the interval, tries again
		}
	}()
}

func (c *Controller) forgetWatch(key app.SourceKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.sourceSet[key]; e != nil {
		e.url = ""
	}
}
