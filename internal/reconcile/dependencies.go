package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// awaitDependencies stops the run of a new revision, or of a changed spec, while an app that it depends on is not ready. Drift of what was
// applied before is corrected meanwhile: that changes nothing that a dependency could be needed for. An event enqueues the app.
func (r *appRun) awaitDependencies(ctx context.Context) error {
	e, a := r.engine, r.app
	if len(a.DependsOn) == 0 || e.Readiness == nil || a.Policy.Mode != policy.Enforce || a.Adoption.Mode == policy.HandBack {
		return nil
	}
	if cycle := e.Readiness.Cycle(a.Key); cycle != "" {
		return r.awaitDependency(ctx, cycle)
	}
	if r.isAdmitted() {
		return nil
	}
	if why := e.Readiness.Unready(a, r.artifact.Revision); why != "" {
		return r.awaitDependency(ctx, why)
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.admitted = admittedKey(a, r.artifact.Revision)
	return nil
}

// awaitDependency ends a run before an app that it depends on is ready.
func (r *appRun) awaitDependency(ctx context.Context, why string) error {
	if err := r.announceObjects(ctx); err != nil {
		r.report.Notes = append(r.report.Notes, "its objects are not known to other apps' prunes yet: "+r.redacted(err.Error()))
	}
	return &stageError{report.DependencyNotReady, errors.New(why)}
}

// isAdmitted reports whether the dependencies were ready before at this revision, under this spec.
func (r *appRun) isAdmitted() bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	if r.state.admitted == "" { // of an earlier process its custom resource knows
		return r.app.CompletedRevision != "" && r.app.CompletedRevision == r.artifact.Revision
	}
	return r.state.admitted == admittedKey(r.app, r.artifact.Revision)
}

func admittedKey(a app.App, revision string) string {
	return fmt.Sprintf("%d %s", a.Generation, revision)
}

// AwaitedDependency returns why the app's newest run has stopped before an app that it depends on was ready, and whether it has.
func (e *Engine) AwaitedDependency(key app.Key) (why string, waits bool) {
	s := e.knownApp(key)
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.report.Stage != report.Depend {
		return "", false
	}
	return s.report.Message, true
}

// awaitsDependencies reports whether the app's newest run has stopped since an app that it depends on is not ready.
func (e *Engine) awaitsDependencies(key app.Key) bool {
	_, stage := e.LastAttempt(key)
	return stage == report.Depend
}
