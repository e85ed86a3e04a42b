package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/lifecycle"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// hooksOf are the hooks of an event that the action runs.
func (r *appRun) hooksOf(event hook.Event) []hook.Hook {
	if _, how := r.action(); how.Hooks == hook.SkipHooks || event == "" {
		return nil
	}
	return hook.HooksOf(r.chart.made.Hooks, event)
}

// runHooks runs the hooks of an event of the action. The error is InProgress while one of them is waited for.
func (r *appRun) runHooks(ctx context.Context, event hook.Event) error {
	_, how := r.action()
	return r.advance(ctx, event, r.hooksOf(event), how)
}

func (r *appRun) advance(ctx context.Context, event hook.Event, all []hook.Hook, how hook.Action) error {
	if len(all) == 0 {
		return nil
	}
	marks := r.app.Release.HookMarks
	labels := maps.Clone(marks.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, r.app.Labels)
	run := hooks.Runner{
		Kind: hooks.Kind{Marks: []string{helmMark}, Manager: "truce-helm"}, Event: event, Hooks: all, Namespace: r.app.Release.Namespace,
		Labels: labels, Annotations: marks.Annotations, Timeout: how.Timeout, Recorder: r,
	}
	return r.advanceHooks(ctx, run, r.chart.runs)
}

// helmMark is the annotation of Helm's hooks.
const helmMark = "helm.sh/hook"

// advanceHooks goes on with hooks. The error is InProgress while one of them is waited for.
func (r *appRun) advanceHooks(ctx context.Context, run hooks.Runner, runs map[int]hook.Run) error {
	e, key := r.engine, r.app.Key
	if err := r.pruneFormerObjects(ctx, run, runs); err != nil {
		return err
	}
	run.Access, run.Cluster, run.Now, run.Created, run.Secrets = r.access, hookCluster{e}, e.Now, e.releaseWaits.created(key), r.secrets
	run.Ended = e.releaseWaits.ended(key)
	waits, err := run.Advance(ctx, runs)
	if err != nil || len(waits) == 0 {
		e.awaitHook(key, nil)
		var known *stageError
		if err != nil && !errors.As(err, &known) {
			return &stageError{report.ApplyFailed, err}
		}
		return err
	}
	e.awaitHook(key, &hookWaitError{WaitErrors: waits, access: r.access, judge: run.Health})
	r.lookAgain(waits)
	return &stageError{report.InProgress, waits}
}

// lookAgain has the app run again when the first of some waits is over. An event enqueues it before that.
func (r *appRun) lookAgain(waits hooks.WaitErrors) {
	if r.report.Again = 0; !waits.Until().IsZero() {
		r.report.Again = max(waits.Until().Sub(r.engine.Now()), minWait)
	}
}

// Record implements hooks.Recorder.
func (r *appRun) Record(ctx context.Context, runs map[int]hook.Run) error {
	newest := r.chart.stored[0]
	r.chart.runs = runs
	return r.record(ctx, newest.Stage)
}

// hookCluster is what a runner of hooks knows of the cluster.
type hookCluster struct{ engine *Engine }

func (c hookCluster) ScopeOf(ctx context.Context, gvk object.GVK) (desired.Scope, error) {
	return c.engine.Scope.ScopeOf(ctx, gvk)
}

func (c hookCluster) Manages(id object.ID) bool { return c.engine.Manages(id) }

// tests are the tests of the release that are asked for.
func (r *appRun) tests() []hook.Hook {
	all := hook.HooksOf(r.chart.made.Hooks, hook.TestEvent)
	return slices.DeleteFunc(all, func(h hook.Hook) bool { return !isAskedFor(r.app.Release.Filters, h.Name) })
}

// isAskedFor reports whether filters let a test run: as in Helm it is one of those that are included, if any are, and none that is excluded.
func isAskedFor(filters []remedy.Filter, name string) bool {
	included, excluded, any := false, false, false
	for _, f := range filters {
		any = any || f.Kind == remedy.Include
		included = included || f.Kind == remedy.Include && f.Name == name
		excluded = excluded || f.Kind == remedy.Exclude && f.Name == name
	}
	return !excluded && (included || !any)
}

// testsOf says how the tests of a stored release have ended. Of one that is not rendered in this run all that have run count.
func (r *appRun) testsOf(s releases.Stored) lifecycle.Tests {
	if r.app.Release.TestPolicy == remedy.SkipTests {
		return lifecycle.TestsPassed
	}
	text, err := s.Text()
	if err != nil {
		return lifecycle.Untested
	}
	runs := releases.HookRuns(text)
	names := releases.TestNames(text)
	out := lifecycle.TestsPassed
	for i, name := range names {
		if !isAskedFor(r.app.Release.Filters, name) {
			continue
		}
		switch runs[i].Phase {
		case hook.Failed:
			return lifecycle.TestsFailed
		case hook.Succeeded:
		default:
			out = lifecycle.Untested
		}
	}
	return out
}

// testRuns are the tests of a stored release that have run; none, and not nil, where it has none that are asked for.
func (r *appRun) testRuns(s releases.Stored) []hook.TestRun {
	if r.app.Release.TestPolicy == remedy.SkipTests {
		return nil
	}
	text, err := s.Text()
	if err != nil {
		return nil
	}
	names, runs := releases.TestNames(text), releases.HookRuns(text)
	var out []hook.TestRun
	maps.DeleteFunc(names, func(_ int, name string) bool { return !isAskedFor(r.app.Release.Filters, name) })
	if s.Status == hook.Deployed && len(names) == 0 {
		return []hook.TestRun{}
	}
	for _, i := range slices.Sorted(maps.Keys(names)) {
		if run := runs[i]; run.Phase != hook.NotRun {
			out = append(out, hook.TestRun{Name: names[i], Run: run})
		}
	}
	return out
}

// runTests runs the tests of a release that is deployed, unless they have run.
func (r *appRun) runTests(ctx context.Context) error {
	newest := r.chart.stored[0]
	spec := r.app.Release
	if spec.TestPolicy == remedy.SkipTests || newest.Status != hook.Deployed || r.testsOf(newest) != lifecycle.Untested {
		return nil
	}
	all := r.tests()
	err := r.advance(ctx, hook.TestEvent, all, spec.Test)
	var failed *hooks.HookError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	counts := r.endTests(all, failed)
	if err := r.record(ctx, newest.Stage); err != nil {
		return err
	}
	switch {
	case failed == nil:
		r.reportRelease()
		return nil
	case !counts:
		r.reportAction(hook.Test, remedy.EndedFailed, r.chart.cause)
		r.report.Notes = append(r.report.Notes, "tests: "+r.chart.cause)
		return nil
	}
	r.reportAction(hook.Test, remedy.EndedFailed, r.chart.cause)
	r.remedySoon(hook.Test)
	return &stageError{report.HealthFailed, failed}
}

// endTests remembers how tests have ended, and reports whether that is a failure of the action. As in Helm those behind one that has failed do not run.
func (r *appRun) endTests(all []hook.Hook, failed *hooks.HookError) (counts bool) {
	if failed == nil {
		r.clearFailures()
		return false
	}
	for _, h := range all {
		if r.chart.runs[h.Index].Phase == hook.NotRun {
			r.chart.runs[h.Index] = hook.Run{}
		}
	}
	r.chart.failure, r.chart.cause = hook.Test, r.redacted(failed.Error())
	action := hook.Step(r.chart.attempts.Action)
	if counts = r.remedyOf(action).Tests == remedy.CountTests; counts {
		r.countFailure(action)
	} else {
		r.clearFailures()
	}
	return counts
}

// remedyOf is what follows a failure of an action.
func (r *appRun) remedyOf(action hook.Step) remedy.Remedy {
	if action == hook.Install {
		return r.app.Release.AfterInstall
	}
	return r.app.Release.AfterUpgrade
}

// readHook enqueues an app one of whose hooks has ended, as the app's account sees it.
func (e *Engine) readHook(ctx context.Context, key app.Key) error {
	wait := e.releaseWaits.hook(key)
	for i, check := range wait.checks() {
		o, err := wait.access.Live.Get(ctx, check.GVK(), check.ID)
		if err != nil && !errors.Is(err, live.ErrNotFound) {
			return err
		}
		if err != nil || wait.WaitErrors[i].IsOver(o, wait.judge) {
			e.queue.EnqueueApp(key)
			return nil
		}
	}
	return nil
}
