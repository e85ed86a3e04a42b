package reconcile

import (
	"slices"
	"sync"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// peers holds the apps that wait to prune: until every app of a source has seen a revision, an object that left one of them may be on its
// way into another. Waiting costs nothing: the last app to see the revision enqueues those that wait.
type peers struct {
	mu       sync.Mutex
	waiting  map[revisionOf]*gate
	handover map[app.Key]*handover // by app that waits to prune
}

// revisionOf is one revision of one source, with the files that it has there.
type revisionOf struct {
	source           app.SourceKey
	revision, digest string
}

// gate is closed until every app of a source has seen a revision.
type gate struct {
	behind  app.Key // one app that has not
	waiters []app.Key
	// postponed says that the waiters were enqueued once although the gate is closed: nothing but dependencies keeps the others.
	postponed bool
}

// awaitPeers reports an app of the same source that has not seen the revision yet, and enqueues this one when all have.
func (r *appRun) awaitPeers() (app.Key, bool) {
	e, at := r.engine, r.seenRevision()
	e.peers.mu.Lock()
	defer e.peers.mu.Unlock()
	other, found := e.behind(at, r.app.Key)
	if !found {
		return app.Key{}, false
	}
	g := e.peers.waiting[at]
	if g == nil {
		g = &gate{behind: other}
		if e.peers.waiting == nil {
			e.peers.waiting = map[revisionOf]*gate{}
		}
		e.peers.waiting[at] = g
	}
	if !slices.Contains(g.waiters, r.app.Key) {
		g.waiters = append(g.waiters, r.app.Key)
	}
	return other, true
}

// seenRevision is the revision that the run is about.
func (r *appRun) seenRevision() revisionOf {
	return revisionOf{r.app.Source, r.artifact.Revision, r.artifact.Digest}
}

// leave ends the waits of an app before it prunes, but for the one until its peers have seen a revision.
func (p *peers) leave(key app.Key, but revisionOf) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.handover, key)
	for at, g := range p.waiting {
		if at == but {
			continue
		}
		g.waiters = slices.DeleteFunc(g.waiters, func(waiter app.Key) bool { return waiter == key })
		if len(g.waiters) == 0 {
			delete(p.waiting, at)
		}
	}
}

// PeerChanged takes note that an app has ended a run, is gone, or cannot run: the apps that wait for it to see a revision may go on.
func (e *Engine) PeerChanged(key app.Key) {
	for _, waiter := range e.peers.opened(e, key) {
		e.queue.EnqueueApp(waiter)
	}
	for _, waiter := range e.holders.take(key) {
		e.queue.EnqueueApp(waiter)
	}
	for _, other := range e.takePassed() {
		e.queue.EnqueueApp(other)
	}
	e.handoverChanged(blocker{app: key})
}

// opened returns the apps that need not wait any longer, since this one was the last that they waited for.
func (p *peers) opened(e *Engine, key app.Key) []app.Key {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []app.Key
	for at, g := range p.waiting {
		if g.behind != key {
			continue
		}
		if other, found := e.behind(at, app.Key{}); found {
			g.behind = other
			waits := e.awaitsDependencies(other)
			if waits && other != key {
				out = append(out, other) // to announce its objects
			}
			if waits && !g.postponed {
				g.postponed = true
				out = append(out, g.waiters...)
			}
			continue
		}
		out = append(out, g.waiters...)
		delete(p.waiting, at)
	}
	return out
}

// behind returns an app of the source, other than this one, that has not seen the revision yet; one that waits for its dependencies only if
// there is no other. An app that was refused sees none.
func (e *Engine) behind(at revisionOf, except app.Key) (app.Key, bool) {
	var waits app.Key
	for _, key := range e.Sources.Readers(at.source) {
		if key == except {
			continue
		}
		s := e.state(key)
		s.mu.Lock()
		stage, seen, announced := s.report.Stage, isAbout(s.report, source.Artifact{Revision: at.revision, Digest: at.digest}), s.hasAnnounced()
		s.mu.Unlock()
		switch {
		case seen && announced:
		case seen && stage == report.Depend:
			waits = key
		case !seen && stage != report.Admit:
			return key, true
		}
	}
	return waits, waits != app.Key{}
}

// postponePrune has a prune wait for another app. The run ends without it where that app itself waits for the apps that it depends on: this
// one may be among them, and would never be ready. The other app is enqueued to announce its objects; when it has, or has seen the revision, this one is
// enqueued.
func (r *appRun) postponePrune(other app.Key, why error) error {
	if other == (app.Key{}) || !r.engine.awaitsDependencies(other) {
		return &stageError{report.InProgress, why}
	}
	r.report.Notes = append(r.report.Notes, why.Error())
	r.engine.queue.EnqueueApp(other)
	return nil
}
