package reconcile

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/decide/lifecycle"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/report"
)

// decideRelease decides what this run does about the release, and returns the objects of that: those of what is asked for, or of a stored release.
func (r *appRun) decideRelease(ctx context.Context, asked render.Result) (render.Result, error) {
	made := asked.Release
	spec := *r.app.Release
	attempts := spec.Attempts
	last, isOthers := r.report.Release, len(r.chart.stored) > 0 && r.chart.stored[0].ByOthers
	switch {
	case last != nil && !isOthers:
		attempts = last.Attempts // the custom resource may not say them yet
		r.chart.failure, r.chart.cause = last.Failure, last.Cause
	case isOthers && r.app.Adoption.Takes() && attempts.Generation == spec.Generation-1: // it was suspended for that, which asks for nothing else
		attempts.Generation = spec.Generation
	case last == nil && !isOthers:
		attempts = r.recall(attempts, remedy.Attempts{Generation: spec.Generation, Version: made.Version, Config: made.Config})
	}
	if spec.Reset != "" && !r.isReset(spec.Reset) {
		attempts = remedy.Attempts{}
	}
	r.chart.made, r.chart.attempts = made, attempts.For(spec.Generation, made.Version, made.Config)
	in := lifecycle.Input{Moved: r.chart.isFormer, Forced: r.isForced(), Renamed: r.isRenamed(made.Chart) && spec.Renamed == remedy.Reinstall, Wanted: made.Step == hook.Keep || r.request.Chart.Mode == release.Again && made.IsNewest && !r.isForced(), Attempts: r.chart.attempts, Spec: spec, Stored: r.storedReleases()}
	r.chart.decision = lifecycle.Decide(in)
	r.chart.isForceOpen = in.Forced && r.chart.decision.State == lifecycle.Pending
	if in.Renamed {
		r.chart.replaced = "the chart has another name"
	}
	if r.app.Policy.Mode != policy.Enforce {
		r.chart.decision.Action = hook.Keep
	}
	r.withhold(r.chart.decision.Blocked)
	defer r.decideRollout() // only now it is known whether this run brings something out
	return r.replayed(ctx, asked)
}

// replayed are the objects of the run.
func (r *appRun) replayed(ctx context.Context, asked render.Result) (render.Result, error) {
	d, from := r.chart.decision, releases.Stored{}
	switch {
	case d.Action == hook.Rollback:
		for _, s := range r.chart.stored {
			if s.Revision == d.Target {
				from = s
			}
		}
	case d.Blocked != remedy.NotBlocked && r.deployedBefore() != nil:
		from = *r.deployedBefore()
	case d.Action == hook.Uninstall, d.Blocked != remedy.NotBlocked && d.State != lifecycle.Absent,
		d.State == lifecycle.Pending && asked.Release.Step != hook.Keep:
		from = r.chart.stored[0]
	default:
		return asked, nil
	}
	text, err := from.Text()
	if err != nil {
		return render.Result{}, err
	}
	if d.Action == hook.Rollback {
		if text, err = releases.RollbackTo(text, d.Target, r.chart.stored[0].Revision+1); err != nil {
			return render.Result{}, err
		}
	}
	r.request = replayOf(r.request, text)
	res, err := r.engine.Render.Render(ctx, r.request)
	if err != nil {
		return render.Result{}, err
	}
	made := *res.Release
	if made.Step = d.Action; d.Action == hook.Rollback {
		made.Text = text
	}
	r.chart.made = &made
	return res, nil
}

// isRenamed reports whether the newest release is truce's, and of a chart with another name.
func (r *appRun) isRenamed(chart string) bool {
	if len(r.chart.stored) == 0 || r.chart.stored[0].ByOthers {
		return false
	}
	text, err := r.chart.stored[0].Text()
	if err != nil {
		return false
	}
	name, _ := releases.ChartOf(text)
	return name != chart
}

// replayOf is the request for the objects of a stored release.
func replayOf(r render.Request, text []byte) render.Request {
	q := *r.Chart
	q.Mode, q.Newest = release.Replay, &release.Stored{Text: text}
	r.Chart = &q
	return r
}

// isReleased reports whether this run brings nothing out: the release is as it is asked for, or is left as it is.
func (r *appRun) isReleased() bool {
	d := r.chart.decision
	return d.State == lifecycle.InSync || d.State == lifecycle.Untried || d.Blocked != remedy.NotBlocked
}

// isDeployed reports whether the objects of the run are those of a deployed release, or of one that had failed before it was adopted, and the run brings
// nothing out: of such an object of which no record says what was applied, nothing but truce's marks is new. The caller holds mu of the state.
func (r *appRun) isDeployed() bool {
	return r.chart.made != nil && r.purpose != rollingOut && (r.chart.decision.State == lifecycle.InSync || r.state.withheld == withholdsValues)
}

// writesRelease reports whether the run stores releases.
func (r *appRun) writesRelease() bool {
	return r.chart.made != nil && r.app.Policy.Mode == policy.Enforce
}

// action is the action that is under way, with how it is carried out; hook.Keep for none.
func (r *appRun) action() (hook.Step, hook.Action) {
	spec := r.app.Release
	if len(r.chart.stored) == 0 {
		return hook.Keep, hook.Action{}
	}
	switch r.chart.stored[0].Status {
	case hook.PendingInstall:
		return hook.Install, spec.Install
	case hook.PendingUpgrade:
		return hook.Upgrade, spec.Upgrade
	case hook.PendingRollback:
		return hook.Rollback, spec.Rollback
	case hook.Uninstalling:
		return hook.Uninstall, spec.Uninstall
	default:
		return hook.Keep, hook.Action{}
	}
}

// beginRelease stores a new release before its first object is applied, so that a crash does not make another one, and runs the hooks that come
// before the objects.
func (r *appRun) beginRelease(ctx context.Context) error {
	if r.app.Release == nil {
		return nil
	}
	if !r.writesRelease() {
		r.reportRelease()
		return nil
	}
	d := r.chart.decision
	switch {
	case d.State == lifecycle.Absent && d.Blocked != remedy.NotBlocked:
		r.reportRelease()
		return r.blocked()
	case d.Action == hook.Uninstall:
		return r.uninstallRelease(ctx)
	case d.Action == hook.Install, d.Action == hook.Upgrade, d.Action == hook.Rollback:
		if err := r.refuseUnserved(ctx); err != nil {
			return err
		}
		if err := r.refuseOthers(ctx, d.Action); err != nil {
			return err
		}
		if err := r.makeNamespace(ctx); err != nil {
			return err
		}
		if err := r.createRelease(ctx, d.Action); err != nil {
			return &stageError{report.ApplyFailed, err}
		}
	case r.chart.made.Step == hook.Keep && r.chart.stored[0].Status == hook.Uninstalling:
		return r.uninstallRelease(ctx)
	default:
		r.leaveCleanedUp()
		r.reportRelease()
	}
	if !r.chart.stored[0].Status.IsPending() {
		return nil
	}
	return r.beforeObjects(ctx)
}

// createRelease stores the release as pending, behind one that nothing more is done about.
func (r *appRun) createRelease(ctx context.Context, action hook.Step) error {
	made, now := r.chart.made, r.engine.Now()
	to := releases.State{Status: hook.PendingInstall, Description: "Initial install underway", First: now, Last: now}
	switch action {
	case hook.Upgrade:
		to.Status, to.Description = hook.PendingUpgrade, "Preparing upgrade"
	case hook.Rollback:
		to.Status, to.Description = hook.PendingRollback, fmt.Sprintf("Rollback to %d", r.chart.decision.Target)
	default: // an install
	}
	if len(r.chart.stored) > 0 {
		newest := r.chart.stored[0]
		if old, err := newest.Text(); err == nil && newest.Status != hook.Uninstalled {
			to.First = releases.FirstDeployed(old)
		}
		if newest.Status.IsUnderWay() {
			text := fmt.Sprintf("Release was still %s when another one was asked for", newest.Status)
			next, err := r.chart.store.Update(ctx, newest, releases.State{Status: hook.FailedRelease, Description: text})
			if err != nil {
				return err
			}
			r.chart.stored[0] = next
		}
	}
	var err error
	if to.Seal, err = r.seal(ctx, made.Text); err != nil {
		return err
	}
	if action != hook.Rollback { // a remedy is no attempt
		r.chart.attempts.Action, r.chart.failure, r.chart.cause = string(action), hook.Keep, ""
	}
	to.Memory = r.memory()
	stored, err := r.chart.store.Create(ctx, made.Revision, made.Text, to)
	if err != nil {
		return err
	}
	r.chart.stored = append([]releases.Stored{stored}, r.chart.stored...)
	r.chart.runs = map[int]hook.Run{}
	r.engine.awaitHook(r.app.Key, nil)
	r.engine.releaseWaits.waitsNoMore(r.app.Key) // another release may have had the same number: of another name, or stored elsewhere
	r.reportAction(action, remedy.UnderWay, "")
	return r.trimReleases(ctx) // here too: of actions that fail none is superseded
}

// beforeObjects runs the hooks that come before the objects.
func (r *appRun) beforeObjects(ctx context.Context) error {
	newest := r.chart.stored[0]
	before, after := hook.EventsOf(newest.Status)
	if newest.Stage != hook.Before {
		return nil
	}
	if err := r.runHooks(ctx, before); err != nil {
		return err
	}
	if len(r.hooksOf(before))+len(r.hooksOf(after)) == 0 {
		return nil
	}
	return r.setStage(ctx, hook.Objects)
}

// setStage records that the action has come further. The hooks of the next stage have not run yet, whatever they did in the stage before.
func (r *appRun) setStage(ctx context.Context, stage hook.Stage) error {
	if stage == hook.After {
		_, after := hook.EventsOf(r.chart.stored[0].Status)
		for _, h := range r.hooksOf(after) {
			r.chart.runs[h.Index] = hook.Run{}
		}
	}
	return r.record(ctx, stage)
}

// record stores how the hooks of the action ran.
func (r *appRun) record(ctx context.Context, stage hook.Stage) error {
	newest := r.chart.stored[0]
	text, err := newest.Text()
	if err == nil {
		err = r.setRelease(ctx, releases.State{Status: newest.Status, Stage: stage, Description: releases.Description(text), Hooks: r.chart.runs})
	}
	if err != nil {
		return &stageError{report.ApplyFailed, err}
	}
	return nil
}

// endRelease waits for the objects, runs the hooks that come after them, and says that the release is deployed.
func (r *appRun) endRelease(ctx context.Context) error {
	if r.app.Release == nil || !r.writesRelease() || len(r.chart.stored) == 0 {
		return nil
	}
	newest := r.chart.stored[0]
	if !newest.Status.IsPending() {
		return r.atRest(ctx)
	}
	_, after := hook.EventsOf(newest.Status)
	if newest.Stage != hook.After {
		if err := r.awaitHealthy(); err != nil {
			return err
		}
		if len(r.hooksOf(after)) > 0 {
			if err := r.setStage(ctx, hook.After); err != nil {
				return err
			}
		}
	}
	if err := r.runHooks(ctx, after); err != nil {
		return err
	}
	if err := r.deployed(ctx); err != nil {
		return &stageError{report.ApplyFailed, err}
	}
	return r.afterRest(ctx)
}

// deployed says that the release is deployed, and that the ones before are not any more.
func (r *appRun) deployed(ctx context.Context) error {
	action, _ := r.action()
	what := map[hook.Step]string{hook.Install: "Install complete", hook.Upgrade: "Upgrade complete", hook.Rollback: fmt.Sprintf("Rollback to %d", r.chart.decision.Target)}[action]
	if action == hook.Rollback {
		if text, err := r.chart.stored[0].Text(); err == nil {
			what = releases.Description(text)
		}
	} else if r.chart.attempts.Action = string(action); r.testsOf(r.chart.stored[0]) != lifecycle.Untested {
		r.clearFailures() // else its tests say how it has ended
	}
	if err := r.setRelease(ctx, releases.State{Status: hook.Deployed, Description: what, Last: r.engine.Now(), Hooks: r.chart.runs}); err != nil {
		return err
	}
	r.reportAction(action, remedy.EndedWell, "")
	r.noteRelease(action, r.chart.stored[0])
	return r.supersede(ctx, action)
}

// clearFailures forgets the failures of what is asked for.
func (r *appRun) clearFailures() {
	a := r.chart.attempts
	r.chart.attempts = remedy.Attempts{Generation: a.Generation, Version: a.Version, Config: a.Config, Action: a.Action}
}

// afterRest is what follows where no action is under way any more.
func (r *appRun) afterRest(ctx context.Context) error {
	d := r.chart.decision
	switch {
	case d.Blocked != remedy.NotBlocked:
		return r.blocked()
	case d.Action == hook.Rollback, d.State == lifecycle.Pending && r.report.Release != nil && r.report.Release.Action == hook.Rollback:
		return r.remediated()
	}
	return r.runTests(ctx)
}

// blocked is the end of a run that does nothing about a failure.
func (r *appRun) blocked() error {
	n, what := r.chart.attempts.Upgrade, "upgrade"
	if r.chart.attempts.Action == string(hook.Install) {
		n, what = r.chart.attempts.Install, "install"
	}
	if r.chart.decision.Blocked == remedy.MissingRollbackTarget {
		return &stageError{report.ApplyFailed, fmt.Errorf("release %s/%s: it has failed, and no release is stored that was deployed and can be rolled back to", r.app.Release.Namespace, r.app.Release.Name)}
	}
	return &stageError{report.ApplyFailed, fmt.Errorf("%s of release %s/%s: it has failed after %d attempt(s)", what, r.app.Release.Namespace, r.app.Release.Name, n)}
}

// remediated is the end of a run that has remedied a failure: what is asked for is not installed.
func (r *appRun) remediated() error {
	r.chart.decision.Blocked = lifecycle.AfterRemedy(*r.app.Release, r.chart.attempts)
	if r.chart.isForceOpen {
		r.chart.decision.Blocked = remedy.NotBlocked
		r.engine.queue.EnqueueApp(r.app.Key)
	}
	r.reportRelease()
	return &stageError{report.Remediated, fmt.Errorf("remediated after: %s", r.causeOfFailure())}
}

func (r *appRun) causeOfFailure() string {
	if was := r.report.Release; was != nil {
		return was.Cause
	}
	return ""
}

func (r *appRun) setRelease(ctx context.Context, to releases.State) error {
	to.Memory = r.memory()
	next, err := r.chart.store.Update(ctx, r.chart.stored[0], to)
	if err != nil {
		return err
	}
	r.chart.stored[0] = next
	r.reportRelease()
	return nil
}
