package reconcile

import (
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// Report returns an app's newest report, with what was seen of its objects since.
func (e *Engine) Report(key app.Key) report.Report {
	s := e.knownApp(key)
	if s == nil {
		return report.Report{App: key}
	}
	s.mu.Lock()
	r, a := s.report, s.app
	r.Created, r.Configured = s.changes.created, s.changes.configured
	r.Lost, r.Passage = s.lostAdoption.why, s.lostAdoption.adoption
	s.mu.Unlock()
	ids := s.objects()
	r.Checks, r.UnreadySince = e.checkedObjects(key), e.unreadySince(a)
	r.App, r.Shared = key, e.sharedObjects(key)
	r.Notes = append(slices.Clip(r.Notes), e.ruleNotes(a.Ignore, ids)...)
	r.Notes = append(r.Notes, e.unaskedNotes(ids)...)
	r.Notes = append(r.Notes, e.dropNotes(r.Leaving)...)
	r.Objects = make([]report.Object, 0, len(ids))
	for _, id := range ids {
		if rec := e.lookup(id); rec != nil {
			r.Objects = append(r.Objects, rec.view())
		}
	}
	return r
}

// HasAttempted reports whether an app's newest run was about the artifact, wherever it stopped.
func (e *Engine) HasAttempted(key app.Key, a source.Artifact) bool {
	s := e.knownApp(key)
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return isAbout(s.report, a)
}

// isAbout reports whether a run was about an artifact: the revision does not say which files of other sources are in it.
func isAbout(r report.Report, a source.Artifact) bool {
	return r.Revision == a.Revision && r.Digest == a.Digest
}

// LastAttempt returns the revision that an app's newest run was about, and the stage at which that run stopped. It costs two fields, where
// Report gathers every object.
func (e *Engine) LastAttempt(key app.Key) (revision string, stage report.Stage) {
	s := e.knownApp(key)
	if s == nil {
		return "", ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report.Revision, s.report.Stage
}

// LastUID returns the uid of the custom resource that an app's newest run was about; empty for none in this process.
func (e *Engine) LastUID(key app.Key) string {
	s := e.knownApp(key)
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app.UID
}

// unaskedNotes lists the objects for which no dry run can show what an apply would leave.
func (e *Engine) unaskedNotes(ids []object.ID) []string {
	n, why := 0, ""
	for _, id := range ids {
		if rec := e.lookup(id); rec != nil {
			rec.mu.Lock()
			if rec.noDryRun != "" {
				n, why = n+1, rec.noDryRun
			}
			rec.mu.Unlock()
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("compared without a dry run, by what Git names alone: %d of the objects (%s)", n, why)}
}

func (r *managedObject) view() report.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return report.Object{
		ID: r.id, Version: r.gvk().Version, UID: r.uid, Health: r.currentHealth(), Findings: r.findings, Problem: r.problem,
		File: r.file, Line: int(r.line), Wave: int(r.wave), Applied: r.state.phase == applied, Judged: r.state.compared, Awaited: r.awaitsWave, Suspected: r.isSuspected(), Confirmation: r.confirmation,
		OptedOut: r.isOptedOut(),
	}
}

// OnEvent takes in a watch event. An event that changes nothing of ours costs a hash; its health is all that is kept of it.
// Events of objects that no app names are held until the app has run whose mark they bear.
func (e *Engine) OnEvent(ev live.Event) {
	r := e.lookup(ev.ID)
	if r == nil {
		e.early.hold(ev, e)
		return
	}
	if wake, news := r.onEvent(ev, e); wake {
		e.queue.Enqueue(ev.ID)
	} else if news {
		e.queue.AppChanged(r.ownedBy())
		e.failuresChanged(r.ownedBy())
		e.healthChanged(r.ownedBy())
		e.notifyListeners()
	}
}

func (r *managedObject) ownedBy() app.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.owner
}

// onEvent reports whether the object must be judged, and whether its health has changed.
func (r *managedObject) onEvent(ev live.Event, e *Engine) (wake, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.Gone {
		if at := health.Expiry(ev.Object); ev.Object.UID() == r.uid && !at.IsZero() { // nothing else has shown its end, where it was deleted at once
			r.keepExpiry(e, at)
		}
		r.setPending(ev, e.Now())
		return true, false
	}
	version := versionOf(ev.Object)
	r.watched = version
	if r.uid != "" && ev.Object.UID() == r.uid && r.knows(version) {
		return false, false // our own write coming back, or older
	}
	if r.pending == nil && r.fingerprint == unchanged.Fingerprint(e.Hasher, ev.Object) && ev.Object.UID() == r.uid {
		r.version = version
		if ev.Depth == live.Full {
			news = r.keepHealth(e, ev.Object)
		}
		return false, news
	}
	if u := newPendingEvent(ev); r.matchesTrusted(u, e) && r.takeTrusted(u, e) == nil {
		return false, true
	}
	r.setPending(ev, e.Now())
	if !r.state.isDescribed() || r.reserved {
		r.pending.pack(&e.eventTexts)
		return false, false
	}
	return true, false
}

// knows reports whether what was judged last is as new as the version, where versions can be compared at all.
func (r *managedObject) knows(version uint64) bool { return version != 0 && version <= r.version }

// subscribe returns a channel that gets a token after each change of an object's health, and how to end that.
func (e *Engine) subscribe() (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	e.listen.Lock()
	defer e.listen.Unlock()
	if e.listeners == nil {
		e.listeners = map[chan struct{}]bool{}
	}
	e.listeners[ch] = true
	return ch, func() {
		e.listen.Lock()
		defer e.listen.Unlock()
		delete(e.listeners, ch)
	}
}

func (e *Engine) notifyListeners() {
	e.listen.Lock()
	defer e.listen.Unlock()
	for ch := range e.listeners {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}
