package reconcile

import (
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report/runs"
)

// countRun counts this run among those that came to apply something.
func (r *appRun) countRun(had runs.Runs) runs.Runs {
	if r.built == "" {
		had.Newest = false
		return had
	}
	now := r.engine.Now()
	return had.Add(r.built, now, now.Sub(r.report.At))
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
