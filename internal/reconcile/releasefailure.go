package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/lifecycle"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/report"
)

// failRelease says why an action could not be carried out. What may pass by itself is no failure: the action goes on in the next run.
func (r *appRun) failRelease(ctx context.Context, cause error) {
	action, _ := r.action()
	if r.chart.made == nil || !r.writesRelease() || action == hook.Keep || !r.isLasting(cause) {
		return
	}
	text := r.redacted(cause.Error())
	what := map[hook.Step]string{hook.Install: "Release", hook.Upgrade: "Upgrade", hook.Rollback: "Rollback", hook.Uninstall: "Uninstall"}[action]
	stage, failed := hook.Before, (*hooks.HookError)(nil)
	if r.chart.stored[0].Stage == hook.Before && errors.As(cause, &failed) {
		stage = hook.HooksFailed
	}
	to := releases.State{Status: hook.FailedRelease, Stage: stage, Description: fmt.Sprintf("%s %q failed: %s", what, r.app.Release.Name, text), Hooks: r.chart.runs}
	before := r.chart.attempts
	if r.countFailure(action); action == hook.Install || action == hook.Upgrade {
		r.chart.failure, r.chart.cause = action, text
	}
	if err := r.setRelease(ctx, to); err != nil { // the pending one is taken up by the next run as well
		r.chart.attempts = before
		r.report.Notes = append(r.report.Notes, r.redacted(err.Error()))
		return
	}
	r.reportAction(action, remedy.EndedFailed, text)
	if r.cleansUp(action) {
		if err := r.cleanUp(ctx, action); err != nil {
			r.report.Notes = append(r.report.Notes, "cleanupOnFail: "+r.redacted(err.Error()))
		}
	}
	r.remedySoon(action)
}

// isLasting reports whether a failure ends the action.
func (r *appRun) isLasting(cause error) bool {
	var f *stageError
	if !errors.As(cause, &f) {
		return r.at == report.Apply && outlook(report.ApplyFailed, cause) == live.Lasting && !errors.Is(cause, context.Canceled)
	}
	var failed *hooks.HookError
	switch {
	case errors.As(cause, &failed):
		return true
	case f.reason != report.ApplyFailed && f.reason != report.HealthFailed && f.reason != report.PruneFailed:
		return false
	case r.canceled:
		return false
	}
	return r.engine.releaseWaits.isBelieved(r.app.Key, outlook(f.reason, cause))
}

func (r *appRun) countFailure(action hook.Step) {
	r.chart.attempts.All++
	switch action {
	case hook.Install:
		r.chart.attempts.Install++
	case hook.Upgrade:
		r.chart.attempts.Upgrade++
	default: // a remedy is no attempt
	}
}

// remedySoon has the app run again if the failure of an action is remedied. A remedy that has failed itself is repeated after the usual pause.
func (r *appRun) remedySoon(failed hook.Step) {
	made, a := r.chart.made, r.chart.attempts
	isAskedFor := failed != hook.Rollback || made.Version == a.Version && made.Config == a.Config
	in := lifecycle.Input{Wanted: isAskedFor && !r.chart.isForceOpen, Forced: r.chart.isForceOpen, Attempts: a, Spec: *r.app.Release, Stored: r.storedReleases()}
	d := lifecycle.Decide(in)
	if r.chart.decision.Blocked = d.Blocked; r.report.Release != nil {
		r.report.Release.Blocked = d.Blocked
	}
	r.withhold(d.Blocked)
	if isRemedy(d.Action) && !isRemedy(failed) || r.chart.isForceOpen {
		r.engine.queue.EnqueueApp(r.app.Key)
	}
}

func isRemedy(action hook.Step) bool { return action == hook.Rollback || action == hook.Uninstall }
