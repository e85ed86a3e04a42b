package reconcile

import (
	"fmt"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// overridePauses has the next judgement of the app's objects override every pause, where a person asks for it: by a request, by an order, or by a
// commit that changes what the app describes.
func (r *appRun) overridePauses() {
	ordered := r.isNewRequest()
	if r.app.Policy.Mode != policy.Enforce || !r.requested && !r.renewed && !ordered {
		return
	}
	for _, id := range r.state.objects() {
		if rec := r.engine.lookup(id); rec != nil && r.app.SyncRequest.Covers(id) {
			rec.overridePauses()
		}
	}
}

// WithdrawRequest says that the request of an app was taken off its custom resource: the same text asks for another run from now on. A run that
// has begun (BeginRun) may have read the app before: it is about no request.
func (e *Engine) WithdrawRequest(key app.Key) {
	s := e.knownApp(key)
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report.Request, s.withdrawn = "", true
}

// isNewRequest reports whether the run is the first one of an order. The runs that follow by themselves, since it waited or failed, are no request.
func (r *appRun) isNewRequest() bool {
	token := r.asked.SyncRequest.Token
	if r.purpose != rollingOut || token == "" {
		return false
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	first := r.state.syncRequest != token
	r.state.syncRequest = token
	return first
}

// overridePauses takes note of a request, unless nothing about the object is paused: then the request would override a later pause.
func (r *managedObject) overridePauses() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.findings) > 0 || !r.state.compared && r.memory.Fought() {
		r.request, r.forced = decide.TryOnce, true
	}
}

// endRequest takes note that the object was judged with a request. The caller holds mu.
func (r *managedObject) endRequest(request decide.Request) {
	if request != decide.NoRequest {
		r.request = decide.NoRequest
	}
}

// overridden is the memory after a new revision was applied, and contested fields with it.
func (w *objectReconcile) overridden(m fight.Memory) fight.Memory {
	for _, f := range w.plan.Findings {
		if f.Verdict == decide.Correct && f.Overrides == decide.Contested && f.Kind != compare.Added {
			m = w.corrected(m, f)
		}
	}
	return m
}

// corrected is the memory after a finding was corrected. One that was contested, and was corrected on request, makes no pause longer.
func (w *objectReconcile) corrected(m fight.Memory, f decide.Finding) fight.Memory {
	path, now := field.PathString(f.Path), w.engine.Now()
	if f.Overrides == decide.Contested {
		return m.WithRequest(path, fight.OpponentOf(f.Writer, f.Path), now)
	}
	return m.WithCorrection(path, fight.OpponentOf(f.Writer, f.Path), now)
}

func (e *Engine) appOf(key app.Key) (app.App, error) {
	s := e.state(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.app.Key != key {
		return app.App{}, fmt.Errorf("%s is not known", key)
	}
	return s.app, nil
}
