package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/source"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// sourceEntry is one source's custom resource, and what came of it. An attached one has none of its own; see attach.
type sourceEntry struct {
	front dialect.Sources
	cr    object.Object

	attached bool
	base     app.SourceKey // of which it is another revision
	reader   app.Key       // an app that names it itself
	wanted   time.Time     // when an app has asked for a look that was not made yet; zero for none

	state dialect.SourceState
	local context.CancelFunc // ends the watch of a local repository; nil for none
	url   string             // that local watches
	wrote digest             // of the status that was written last
}

func (c *Controller) onSourceEvent(f dialect.Sources, ev live.Event) {
	s := f.Source(ev.Object)
	c.mu.Lock()
	e := c.sourceSet[s.Key]
	switch {
	case ev.Gone && e != nil:
		e.stop()
		delete(c.sourceSet, s.Key)
		c.mu.Unlock()
		return
	case ev.Gone:
		c.mu.Unlock()
		return
	case e == nil:
		e = &sourceEntry{front: f}
		c.sourceSet[s.Key] = e
	}
	news := e.cr == nil || e.cr.Generation() != ev.Object.Generation() || f.Source(e.cr).Request != s.Request
	e.cr = ev.Object
	var all []app.SourceKey
	for key, other := range c.sourceSet {
		if key == s.Key || other.base == s.Key {
			all = append(all, key)
		}
	}
	c.mu.Unlock()
	for _, key := range all {
		if news {
			c.sources.Add(key)
		}
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
		if err := c.unlisted(); err != nil {
			return source.Artifact{}, fmt.Errorf("%s is not known: %w", key, err)
		}
		return source.Artifact{}, fmt.Errorf("%s is not in the cluster", key)
	case e.state.Artifact.Files != nil:
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
		if !e.wanted.IsZero() {
			return time.Second
		}
		if e.state.Artifact.Files == nil && e.state.Err == nil && (e.cr == nil || !e.front.Source(e.cr).Suspended) {
			return time.Second
		}
		return 0
	}
	if c.isListing() {
		return listingWait
	}
	return 0
}

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
		if e.cr == nil {
			c.sources.Add(key)
		}
	}
}

// isListing reports whether more sources are about to be known. The caller holds mu.
func (c *Controller) isListing() bool {
	return slices.ContainsFunc(c.sourceWatches, func(w live.Watch) bool {
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

// unlisted is why sources are not known; nil where they are, or are about to be. The caller holds mu.
func (c *Controller) unlisted() error {
	for _, w := range c.sourceWatches {
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
	f, cr := c.sourceResource(key)
	if cr == nil {
		return c.reportUnfetched(ctx, key, "is not in the cluster")
	}
	s := f.Source(cr)
	switch {
	case s.Suspended:
		return c.reportUnfetched(ctx, key, "is suspended")
	case s.Deleting:
		return c.reportUnfetched(ctx, key, "is being deleted")
	}
	s.Key = key
	begin := c.Now()
	next := c.fetch(ctx, f, cr, s)
	if c.Fetched != nil {
		c.Fetched(key, c.Now().Sub(begin), next.Err)
	}
	untold := c.setSourceState(ctx, key, next)
	if next.Err != nil {
		c.Log.Warn("fetch", "source", key.String(), "error", next.Err.Error())
	}
	if next.Err != nil || untold != nil && !apierrors.IsForbidden(untold) && !apierrors.IsInvalid(untold) {
		return min(retrySource, max(s.Interval, time.Second))
	}
	if isPinnedToCommit(key) {
		return 0
	}
	return c.lookInterval(key, s.Interval)
}

// reportUnfetched reports to the apps that read another revision of a source why it is not fetched: they wait for the first look.
func (c *Controller) reportUnfetched(ctx context.Context, key app.SourceKey, why string) time.Duration {
	c.mu.RLock()
	e := c.sourceSet[key]
	known, listing := e != nil && e.base != (app.SourceKey{}), c.isListing()
	c.mu.RUnlock()
	if listing {
		return listingWait
	}
	if known {
		base := key
		base.Revision = ""
		_ = c.setSourceState(ctx, key, dialect.SourceState{Err: fmt.Errorf("%s %s", base, why), At: c.Now()}) // it has no status
	}
	return 0
}

// retrySource is the pause after a fetch that failed or could not be reported, where the interval is not shorter.
const retrySource = 15 * time.Second

func (c *Controller) fetch(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) dialect.SourceState {
	state := dialect.SourceState{Generation: s.Generation, Request: s.Request, At: c.Now()}
	spec, err := c.sourceSpec(ctx, f, cr, s)
	if err != nil {
		state.Err = err
		return state
	}
	if isLocal(spec.URL) && c.LocalSources != AllowLocal {
		state.Err = &source.Error{Op: "fetch", Subject: spec.URL, Reason: source.NotSupported, Err: errLocal}
		return state
	}
	c.watchLocal(ctx, s.Key, spec.URL)
	state.Artifact, state.Err = c.Fetcher.Fetch(ctx, spec)
	var p *panics.Error
	if errors.As(state.Err, &p) {
		c.OnPanic("source", s.Key.String(), p)
	}
	return state
}

var errLocal = errors.New("a repository on the controller's own machine is read only where --local-sources allows it")

func isLocal(url string) bool {
	return strings.HasPrefix(url, "file:") || strings.HasPrefix(url, "/") || strings.HasPrefix(url, ".")
}

// setSourceState keeps the outcome. A failed fetch keeps the artifact that was there; a new revision wakes the apps. The error is that
// the source's status could not be written.
func (c *Controller) setSourceState(ctx context.Context, key app.SourceKey, next dialect.SourceState) error {
	c.mu.Lock()
	e := c.sourceSet[key]
	if e == nil {
		c.mu.Unlock()
		return nil
	}
	news := next.Err == nil && (e.state.Artifact.Digest != next.Artifact.Digest || e.state.Artifact.Revision != next.Artifact.Revision)
	first := e.state.Artifact.Files == nil && (e.state.Err == nil) != (next.Err == nil)
	if !e.wanted.IsZero() && !next.At.Before(e.wanted) {
		e.wanted, first = time.Time{}, true
	}
	if next.Err != nil {
		next.Artifact = e.state.Artifact
	}
	e.state = next
	var apps []app.Key
	for k, a := range c.appSet {
		if (news || first || next.Err != nil) && a.app.Source == key {
			apps = append(apps, k)
		}
	}
	c.mu.Unlock()
	if news {
		c.enqueueChangedFirst(apps, next.Artifact)
	} else {
		c.enqueueApps(apps)
	}
	c.engine.SourceLooked(key)
	return c.writeSourceStatus(ctx, key)
}

// enqueueChangedFirst enqueues the apps of a new revision, those first that it may change: behind hundreds of others they would wait for as many
// status writes.
func (c *Controller) enqueueChangedFirst(apps []app.Key, a source.Artifact) {
	for _, k := range apps {
		c.engine.Supersede(k)
	}
	var others []app.Key
	for _, k := range apps {
		if c.engine.MayChange(k, a) {
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
