package reconcile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// An object that leaves one app may be on its way into another one, which reads another source or has just been described itself. A prune waits
// until each source was looked at once, handoverGrace after the object left, and until each app has seen what is newest then: it asks for the
// object if it has it (claimObject), and gets it without a delete. An app that is slower than handoverPatience is not waited for.
const (
	handoverGrace    = 3 * time.Second
	handoverPatience = 2 * time.Minute
)

// handover is a prune that waits.
type handover struct {
	source app.SourceKey // of the app that prunes
	looked time.Time     // from when on sources are to be looked at
	on     blocker
	// postponed says that the app was enqueued once although it is blocked, see gate.
	postponed bool
}

// blocker is what a prune waits for: an app, or a source.
type blocker struct {
	app    app.Key
	source app.SourceKey
}

func (b blocker) String() string {
	if b.app != (app.Key{}) {
		return b.app.String() + " has seen the newest revision of its source"
	}
	return b.source.String() + " was looked at"
}

// awaitHandover returns what a prune waits for, and that as an error, while another app may be about to ask for what leaves this one. An
// event enqueues the app.
func (r *appRun) awaitHandover() (blocker, error) {
	e, now := r.engine, r.engine.Now()
	since := r.leavingSince(now)
	left := since.Add(handoverPatience).Sub(now)
	h := &handover{source: r.app.Source, looked: since.Add(handoverGrace)}
	e.peers.mu.Lock()
	defer e.peers.mu.Unlock()
	delete(e.peers.handover, r.app.Key)
	if left <= 0 || !e.blocked(r.app.Key, h) {
		return blocker{}, nil
	}
	if e.peers.handover == nil {
		e.peers.handover = map[app.Key]*handover{}
	}
	e.peers.handover[r.app.Key] = h
	r.report.Again = left
	return h.on, fmt.Errorf("prune waits until %s: it may take over what left this app", r.shown(h.on))
}

// shown names what a prune waits for. A tenant is not shown what is in another namespace.
func (r *appRun) shown(on blocker) string {
	if r.app.Account.IsSelf() || cmp.Or(on.app.Namespace, on.source.Namespace) == r.app.Key.Namespace {
		return on.String()
	}
	return "an app of another namespace has seen its newest revision"
}

// leavingSince is when the first run of this process has found that this revision leaves objects to prune.
func (r *appRun) leavingSince(now time.Time) time.Time {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if at := r.rolloutKey(); r.state.leavingAt != at {
		r.state.leavingAt, r.state.leavesSince = at, now
	}
	return r.state.leavesSince
}

// blocked finds what a prune has to wait for, and reports whether there is anything. The caller holds peers.mu.
func (e *Engine) blocked(key app.Key, h *handover) bool {
	sources, apps := e.Sources.Behind(h.source, h.looked)
	if len(sources) > 0 {
		h.on = blocker{source: sources[0]}
		return true
	}
	apps = slices.DeleteFunc(slices.Clone(apps), func(other app.Key) bool { return other == key })
	if len(apps) == 0 {
		return false
	}
	h.on = blocker{app: apps[0]}
	if i := slices.IndexFunc(apps, func(other app.Key) bool { return !e.awaitsDependencies(other) }); i >= 0 {
		h.on.app = apps[i]
	}
	return true
}

// HasSeen reports whether an app has ended a run with the artifact, or is refused.
func (e *Engine) HasSeen(key app.Key, a source.Artifact) bool {
	s := e.knownApp(key)
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report.Stage == report.Admit || (s.report.Stage != report.Depend || s.hasAnnounced()) && isAbout(s.report, a) && a.Revision != ""
}

// SourceLooked takes note that a look at a source has ended, with or without news.
func (e *Engine) SourceLooked(key app.SourceKey) { e.handoverChanged(blocker{source: key}) }

// handoverChanged enqueues the apps that need not wait any longer, since this was the last that they waited for.
func (e *Engine) handoverChanged(on blocker) {
	var free []app.Key
	e.peers.mu.Lock()
	for key, h := range e.peers.handover {
		switch {
		case h.on != on:
		case !e.blocked(key, h):
			delete(e.peers.handover, key)
			free = append(free, key)
		case !h.postponed && h.on.app != (app.Key{}) && e.awaitsDependencies(h.on.app):
			h.postponed = true
			free = append(free, key, h.on.app)
		case h.on.app != on.app && h.on.app != (app.Key{}) && e.awaitsDependencies(h.on.app):
			free = append(free, h.on.app) // to announce its objects
		}
	}
	e.peers.mu.Unlock()
	for _, key := range free {
		e.queue.EnqueueApp(key)
	}
}
