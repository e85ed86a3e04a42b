package reconcile

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/runs"
)

// countRun counts this run among those that came to apply something. The caller holds the state's mu.
func (r *appRun) countRun() runs.Runs {
	had := r.state.report.Runs
	if r.report.Generation != r.state.report.Generation {
		had.Began = time.Time{}
	}
	if r.built == "" {
		had.Newest = false
		return had
	}
	now := r.engine.Now()
	counted := had.Add(r.built, now, now.Sub(r.report.At))
	if r.report.Stage != report.Done { // what it could not apply becomes healthy later
		counted.Began = time.Time{}
	}
	return counted
}

// NoteRuns takes in that a status was written that counts an app's runs.
func (e *Engine) NoteRuns(key app.Key, counted runs.Runs) {
	s := e.knownApp(key)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Runs = s.report.Runs.Note(counted)
}

func (s *appState) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// isReleasing reports whether a run of an app with a Helm release goes on. An object that recovers in it has been taken back by a remedy, or is part of
// what the run has to say; another run would try the failed upgrade again, without the pause.
func (e *Engine) isReleasing(key app.Key) bool {
	s := e.knownApp(key)
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running && s.app.Release != nil
}
