package controller

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// Some sources have no custom resource of their own: those that an app names itself, and other revisions of those that have one. They are
// there as long as an app reads them, shared by all that read the same, and have no status: the apps report the result of a fetch.

// attachSource makes sure that what the app reads now is fetched, where no custom resource of its own asks for that. The form that the caller
// knows may be an older one: the source of that, or of an app that is gone, would stay without a reader.
func (c *Controller) attachSource(key app.Key) {
	var made []app.SourceKey
	c.mu.Lock()
	if e := c.appSet[key]; e != nil && c.attaches(e.app) {
		for _, p := range e.app.Parts {
			made = append(made, c.attachKey(key, p.Source, nil)...)
		}
		made = append(made, c.attachKey(key, e.app.Source, e.app.Parts)...)
	}
	c.mu.Unlock()
	c.enqueueSources(made)
}

// attaches reports whether the app has its source fetched.
func (c *Controller) attaches(a app.App) bool {
	_, inline := c.inlineOf(a.Key)
	return (inline || !a.Source.IsOwn()) && len(a.Problems) == 0 && (!a.Deleting || a.DeletionPaused || a.AsksForEndHooks())
}

// attachKey makes sure that there is a source which an app reads, and returns it if there was none; it is made of the parts, where there are some. The
// caller holds mu.
func (c *Controller) attachKey(reader app.Key, key app.SourceKey, parts []app.Part) (made []app.SourceKey) {
	f, inline := c.inlineOf(reader)
	e := c.sourceSet[key]
	if e == nil {
		e = &sourceEntry{attached: true}
		c.sourceSet[key] = e
		made = append(made, key)
	}
	e.parts, e.includes = parts, nil
	for _, p := range parts {
		e.includes = append(e.includes, p.Source)
	}
	if inline {
		e.front, e.reader = f, reader
	} else {
		e.base = key.Own()
	}
	return made
}

// requestFetch asks for a look at what a source holds now, unless that never changes. Its apps wait for it (awaitSource). Of a source whose status is
// truce's the looks are asked for on its own custom resource, and the status says when one was made. Another controller's status does not: it answers
// for its own look.
func (c *Controller) requestFetch(key app.SourceKey) {
	c.mu.Lock()
	asked := c.wantFetch(key, nil)
	c.mu.Unlock()
	c.enqueueSources(asked)
}

// wantFetch notes that a look is asked for at a source, and at those that it includes, unless that is noted already, and returns these: asked, and what
// is added. The caller holds mu.
func (c *Controller) wantFetch(key app.SourceKey, asked []app.SourceKey) []app.SourceKey {
	e := c.sourceSet[key]
	if e == nil || isPinnedToCommit(key) || slices.Contains(asked, key) {
		return asked
	}
	if !e.attached && (e.cr == nil || !c.isWrittenByOther(key, e.cr) || !isFetched(e.front.Source(e.cr))) {
		return asked
	}
	e.wanted = time.Now()
	asked = append(asked, key)
	for _, p := range e.includes {
		asked = c.wantFetch(p, asked)
	}
	return asked
}

// isFetched reports whether the custom resource of a source lets it be fetched.
func isFetched(s dialect.Source) bool { return s.Recipe == nil && !s.Suspended && !s.Deleting }

func (c *Controller) inlineOf(key app.Key) (dialect.Sources, bool) {
	for gvk, f := range c.Kinds.Inline {
		if gvk.Kind == key.Kind {
			return f, true
		}
	}
	return nil, false
}

// detachSource drops attached sources that no app reads any more.
func (c *Controller) detachSource(key app.SourceKey) {
	for _, p := range c.dropSource(key) {
		c.detachSource(p)
	}
}

// dropSource drops one source that no app reads any more, and returns those of which it was made.
func (c *Controller) dropSource(key app.SourceKey) []app.SourceKey {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.sourceSet[key]
	if e == nil || !e.attached {
		return nil
	}
	for _, a := range c.appSet {
		if a.app.HasSource(key) {
			return nil
		}
	}
	e.stop()
	delete(c.sourceSet, key)
	return e.includes
}

func (e *sourceEntry) stop() {
	if e.local != nil {
		e.local()
	}
}

// sourceResource returns what says what the source is: its own custom resource, that of the source of which it is another revision, or that
// of an app that reads it.
func (c *Controller) sourceResource(key app.SourceKey) (dialect.Sources, object.Object) {
	c.mu.RLock()
	e := c.sourceSet[key]
	if e == nil {
		c.mu.RUnlock()
		return nil, nil
	}
	e = c.defining(e)
	f, cr, reader := e.front, e.cr, e.reader
	c.mu.RUnlock()
	if cr == nil && reader != (app.Key{}) {
		if a, ok := c.findReader(key, reader); ok {
			cr = a.cr
		}
	}
	if inline, ok := f.(interface {
		ForKey(app.SourceKey) dialect.Sources
	}); ok {
		f = inline.ForKey(key)
	}
	return f, cr
}

// defining returns the entry whose custom resource says what a source is: its own, or that of the source of which it is another revision. The caller
// holds mu.
func (c *Controller) defining(e *sourceEntry) *sourceEntry {
	if base := c.sourceSet[e.base]; base != nil && e.base != (app.SourceKey{}) {
		return base
	}
	return e
}

// findReader returns an app that reads the source; the one that was last known to, if it still does.
func (c *Controller) findReader(key app.SourceKey, last app.Key) (appEntry, bool) {
	if a, ok := c.entry(last); ok && a.app.HasSource(key) {
		return a, true
	}
	c.mu.RLock()
	var found app.Key
	for k, a := range c.appSet {
		if a.app.HasSource(key) {
			found = k
		}
	}
	c.mu.RUnlock()
	return c.entry(found)
}

// pinnedSpec is the spec of another revision than the source itself follows.
func pinnedSpec(spec source.Spec, key app.SourceKey) source.Spec {
	if key.Revision != "" {
		return spec.At(key.Revision)
	}
	return spec
}

// isPinnedToCommit reports whether the revision can never become another one.
func isPinnedToCommit(key app.SourceKey) bool {
	return key.Revision != "" && source.ParseRef(key.Revision).Commit != ""
}
