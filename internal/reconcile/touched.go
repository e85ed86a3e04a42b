package reconcile

import (
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/source"
)

// MayChange reports whether a revision may change what an app describes: whether its render is not known. It builds nothing, and may be
// called concurrently. An app that never ran is touched.
func (e *Engine) MayChange(key app.Key, a source.Artifact) bool {
	known := e.knownApp(key)
	if known == nil {
		return true
	}
	known.mu.Lock()
	now := known.app
	known.mu.Unlock()
	if now.Key != key {
		return true
	}
	q, _, err := RequestOf(a.Files, now.AtRevision(a.Commit, a.Files))
	return err != nil || !e.Cache.Holds(q)
}
