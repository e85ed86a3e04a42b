package reconcile

import (
	"cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/layout"
	"github.com/truce-gitops/truce/internal/source"
)

// MayChange reports whether a revision may change what an app describes: whether its render is neither in memory nor known from its inventory. It
// builds nothing, and may be called concurrently. An app that never ran is touched.
func (e *Engine) MayChange(key app.Key, a source.Artifact) bool {
	known := e.knownApp(key)
	if known == nil {
		return true
	}
	known.mu.Lock()
	now, values, keys, chart, based := known.app, known.variables, known.keys, known.chart, known.basis
	known.mu.Unlock()
	if now.Key != key {
		return true
	}
	now = now.AtRevision(a.Commit, a.Files)
	q, _, err := layout.RequestOf(a.Files, now)
	q.Variables, q.Decryption = values, keys
	completeAsBefore(&q, chart)
	if err != nil {
		return true
	}
	if based.IsKnown() && based.Holds(q, e.dependsOn(now)) {
		return false
	}
	return !e.Cache.Holds(q)
}

// completeAsBefore puts into a request what a run has found out that the cluster serves: another one would ask again.
func completeAsBefore(q *render.Request, chart *release.Request) {
	for i := range q.Parts {
		completeAsBefore(&q.Parts[i], chart)
	}
	switch {
	case chart == nil:
		q.Inflate = nil // a run has found that charts of kustomizations are refused
	case q.Chart != nil:
		q.Chart = completed(q.Chart, chart)
	case q.Inflate != nil:
		q.Inflate = completed(q.Inflate, chart)
	}
}

// chartIn returns how a chart of a request is rendered, or those that its kustomization may name; nil for none. What the cluster serves is the same for all.
func chartIn(q render.Request) *release.Request {
	for _, p := range q.Parts {
		if c := chartIn(p); c != nil {
			return c
		}
	}
	return cmp.Or(q.Chart, q.Inflate)
}
