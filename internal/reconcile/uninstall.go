package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing/fstest"
	"time"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/record"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/values"
	"github.com/truce-gitops/truce/internal/report"
)

// listReleases reads the stored releases: those of the name asked for, or while there is a former one that those replace, the former's. The name may be
// another app's: then the run ends, before the former release is touched, and an app that is deleted has none of them.
func (r *appRun) listReleases(ctx context.Context) (err error) {
	spec := *r.app.Release
	r.chart.store = releases.Store{Access: r.access, Namespace: spec.Storage, Name: spec.Name}
	if r.chart.stored, err = r.chart.store.List(ctx); err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	held := r.refuseHeld()
	if held != nil && !r.app.Deleting {
		return held
	}
	if held != nil {
		r.chart.stored = nil
	}
	f := spec.Former
	if f == nil || r.app.Policy.Mode != policy.Enforce || held != nil && f.Name == spec.Name && f.Storage == spec.Storage { // then those are the other app's
		return nil
	}
	return r.listFormer(ctx, *f)
}

// listFormer reads the stored releases of the former name, which may be the same one with another namespace. While the newest of them is this app's, the run is about that one.
func (r *appRun) listFormer(ctx context.Context, f record.Former) error {
	spec := *r.app.Release
	store := releases.Store{Access: r.access, Namespace: f.Storage, Name: f.Name}
	stored, err := store.List(ctx)
	if err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	if len(stored) > 0 && stored[0].Status != hook.Uninstalled && isOfFormer(stored[0], f) {
		r.chart.isFormer, r.chart.replaced = true, fmt.Sprintf("%s/%s, stored in %s, takes its place", spec.Namespace, spec.Name, spec.Storage)
		spec.Name, spec.Namespace, spec.Storage = f.Name, f.Namespace, f.Storage
		r.asked.DefaultNamespace.Name, r.app.DefaultNamespace.Name = f.Namespace, f.Namespace
		r.asked.Release, r.app.Release = &spec, &spec
		r.chart.store, r.chart.stored = store, stored
	}
	return nil
}

// isOfFormer reports whether a stored release is of the former name's: another custom resource may have that name by now. The digest of one that another
// controller has stored is that controller's.
func isOfFormer(s releases.Stored, f record.Former) bool {
	digest, known := f.Known[s.Revision]
	text, err := s.Text()
	return known && err == nil && releases.NamespaceOf(text) == f.Namespace && (s.ByOthers || releases.DigestOf(text) == digest)
}

// uninstallRelease removes the objects of a release that has failed, and ends the run: the next one installs it, if it may be tried again.
func (r *appRun) uninstallRelease(ctx context.Context) error {
	if r.chart.stored[0].Status != hook.Uninstalling {
		if err := r.beginUninstall(ctx); err != nil {
			return &stageError{report.ApplyFailed, err}
		}
		r.reportAction(hook.Uninstall, remedy.UnderWay, "")
	}
	if err := r.beforeObjects(ctx); err != nil {
		return err
	}
	late := ""
	if r.chart.stored[0].Stage != hook.After {
		var err error
		if late, err = r.deleteObjects(ctx); err != nil {
			return err
		}
	}
	if r.app.Release.History != record.KeepHistory && r.chart.replaced == "" && r.isUnwritten() {
		r.reportAction(hook.Uninstall, remedy.UnderWay, "") // an earlier process may have begun it
		r.report.Again = statusWait
		return &stageError{report.InProgress, fmt.Errorf("release %s/%s is being uninstalled: its status is to say first that it has failed, as nothing else does then", r.app.Release.Namespace, r.app.Release.Name)}
	}
	err := r.endUninstall(ctx, late)
	var failed *uninstallError
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	r.reportUninstalled(failed)
	r.chart.decision.Blocked = remedy.NotBlocked
	if why := r.chart.replaced; why != "" {
		r.engine.queue.EnqueueApp(r.app.Key)
		return &stageError{report.InProgress, fmt.Errorf("release %s/%s is uninstalled, as %s; what is asked for is installed next", r.app.Release.Namespace, r.app.Release.Name, why)}
	}
	return r.remediated()
}

// statusWait is how long an uninstall waits until the status is looked at again.
const statusWait = 200 * time.Millisecond

// isUnwritten reports whether the custom resource, as it was read for this run, does not say how often what is asked for has failed.
func (r *appRun) isUnwritten() bool {
	now := r.chart.attempts
	return r.app.Release.Attempts.For(now.Generation, now.Version, now.Config).All != now.All
}

// uninstallError is what has failed of an uninstall that has ended all the same, as in Helm: the next try finds nothing that is left to do.
type uninstallError struct {
	late  string // which objects were still there when the wait for them ended; empty for none
	hooks error  // what has failed of the hooks that come after the objects; nil for nothing
}

// Error implements error.
func (f *uninstallError) Error() string {
	if f.hooks == nil {
		return f.late
	}
	return strings.TrimPrefix(f.late+"; "+f.hooks.Error(), "; ")
}

// reportUninstalled reports that the release is uninstalled, and what has failed of that; nil for nothing.
func (r *appRun) reportUninstalled(failed *uninstallError) {
	if now := r.report.Release; now != nil {
		next := *now
		next.Status, next.Action, next.Ended, next.Attempts = hook.Uninstalled, hook.Uninstall, remedy.EndedWell, r.chart.attempts
		if failed != nil {
			next.Ended, next.RemedyCause = remedy.EndedFailed, failed.Error()
		}
		r.report.Release = &next
	}
}

// beginUninstall records that the newest release is being uninstalled.
func (r *appRun) beginUninstall(ctx context.Context) error {
	for _, h := range append(hook.HooksOf(r.chart.made.Hooks, hook.PreDelete), hook.HooksOf(r.chart.made.Hooks, hook.PostDelete)...) {
		r.chart.runs[h.Index] = hook.Run{}
	}
	return r.setRelease(ctx, releases.State{Status: hook.Uninstalling, Description: uninstallText, Deleted: r.engine.Now(), Hooks: r.chart.runs})
}

// uninstallText is what Helm says of a release that is being uninstalled.
const uninstallText = "Deletion in progress (or silently failed)"

// leastUninstallWait is how long an uninstall with a timeout of 0 waits, as in Helm (pkg/kube, statuswait.go).
const leastUninstallWait = 30 * time.Second

// awaitTermination has a prune wait until the objects of the release are gone, but for uninstall.disableWait, and for hooks that follow already.
func (r *appRun) awaitTermination(run *pruneRun) {
	how, newest := r.app.Release.Uninstall, r.chart.stored[0]
	if how.Wait == hook.WaitForNothing || newest.Stage == hook.After {
		return
	}
	run.order, run.limit.timeout = awaitAtEnd, cmp.Or(how.Timeout, leastUninstallWait)
	if text, err := newest.Text(); err == nil {
		run.limit.since = releases.DeletedAt(text)
	}
}

// deleteObjects deletes what the app has made, and waits until it is gone: the error is InProgress until then. late says what was still there after the
// timeout.
func (r *appRun) deleteObjects(ctx context.Context) (late string, err error) {
	r.state.mu.Lock()
	ids := missing(r.state.wanted, nil)
	r.state.mu.Unlock()
	made := r.engine.dropObjects(r.app.Key, ids)
	r.state.mu.Lock()
	clear(r.state.wanted)
	r.state.mu.Unlock()
	a := r.app
	a.Deleting = true
	r.inventory = inventory.MergeEntries(r.inventory, newerUIDs(r.inventory, made))
	run := r.engine.newPruneRun(a, len(r.inventory.Entries))
	run.why = "its release is uninstalled"
	r.awaitTermination(run)
	err = run.execute(ctx, &r.inventory, r.inventory.Entries)
	var waits hooks.WaitErrors
	if errors.As(err, &waits) {
		r.lookAgain(waits)
	}
	return run.late, r.engine.saveAfterPrune(ctx, r.inventory, err)
}

// endUninstall runs the hooks that come after the objects, and deletes the stored releases, or says that the newest is uninstalled. It does so also where
// objects are still there after the timeout, and where one of these hooks has failed, as Helm does, and returns that as an uninstallError.
func (r *appRun) endUninstall(ctx context.Context, late string) error {
	if late != "" {
		if err := r.noteLate(ctx, late); err != nil {
			return &stageError{report.PruneFailed, err}
		}
	}
	if len(r.hooksOf(hook.PostDelete)) > 0 && r.chart.stored[0].Stage != hook.After {
		if err := r.setStage(ctx, hook.After); err != nil {
			return err
		}
	}
	hooksErr := r.runHooks(ctx, hook.PostDelete)
	var failed *hooks.HookError
	if hooksErr != nil && !errors.As(hooksErr, &failed) {
		return hooksErr
	}
	newest := r.chart.stored[0]
	ended, err := uninstallError{late: latenessOf(newest), hooks: hooksErr}, error(nil)
	if r.app.Release.History == record.KeepHistory {
		err = r.keepUninstalled(ctx)
	} else if err = r.chart.store.Clear(ctx, r.chart.stored); err == nil {
		r.chart.stored = nil
	}
	if err != nil {
		return &stageError{report.PruneFailed, err}
	}
	if ended.late != "" || ended.hooks != nil {
		return &ended
	}
	r.noteRelease(hook.Uninstall, newest)
	return nil
}

// noteLate records which objects were still there after the timeout: the hooks that follow may take several runs.
func (r *appRun) noteLate(ctx context.Context, late string) error {
	return r.setRelease(ctx, releases.State{Status: hook.Uninstalling, Stage: r.chart.stored[0].Stage, Description: uninstallText + ": " + late, Hooks: r.chart.runs})
}

// latenessOf is what noteLate has recorded; empty for nothing.
func latenessOf(s releases.Stored) string {
	text, err := s.Text()
	if err != nil {
		return "" // it was read, or written, before
	}
	late, isLate := strings.CutPrefix(releases.Description(text), uninstallText+": ")
	if !isLate {
		return ""
	}
	return late
}

// keepUninstalled says that the newest release is uninstalled, and as in Helm of the ones before that none is deployed any more: those first, since a
// release that is uninstalled is not looked at again.
func (r *appRun) keepUninstalled(ctx context.Context) error {
	isDeployed := func(s releases.Stored) bool { return s.Status == hook.Deployed }
	if err := r.supersedeThose(ctx, isDeployed); err != nil {
		return err
	}
	return r.setRelease(ctx, releases.State{Status: hook.Uninstalled, Description: "Uninstallation complete", Hooks: r.chart.runs})
}

// removal is the end of an app that is deleted.
type removal struct {
	release *appRun   // the uninstall of its release; nil for none
	hooks   *endHooks // nil for none
}

// beginRemoval runs the hooks that come before the objects of a deleted app are deleted: the error holds hooks.WaitErrors while one is waited for.
func (e *Engine) beginRemoval(ctx context.Context, a app.App, saved *inventory.Record) (out removal, err error) {
	if a.Release != nil {
		out.release, err = e.beginUninstallOf(ctx, a, len(saved.Entries) > 0)
		return out, err
	}
	if out.hooks, err = e.newEndHooks(ctx, a, *saved); err != nil || out.hooks == nil {
		return out, err
	}
	err = out.hooks.begin(ctx)
	*saved = out.hooks.run.inventory
	return out, err
}

// beginUninstallOf is beginRemoval of a Helm release: nil unless truce has made it.
func (e *Engine) beginUninstallOf(ctx context.Context, a app.App, hasObjects bool) (*appRun, error) {
	if !hasObjects && (len(a.Release.Known) == 0 || e.refuseElsewhere(a) != nil) {
		return nil, nil
	}
	access, err := e.accessOf(a)
	if err != nil {
		return nil, err
	}
	r := &appRun{engine: e, state: &appState{}, asked: a, app: a, access: access}
	if err := r.listReleases(ctx); err != nil {
		gone, readErr := e.endsWithHome(ctx, a, err)
		if gone {
			return nil, nil
		}
		return nil, errors.Join(err, readErr)
	}
	if len(r.chart.stored) == 0 || r.chart.stored[0].Status == hook.Uninstalled {
		return nil, nil
	}
	if err := r.renderStored(ctx); err != nil {
		return nil, fmt.Errorf("the hooks of release %s: %w; spec.uninstall.disableHooks leaves them out", a.Release.Name, err)
	}
	if r.chart.stored[0].Status != hook.Uninstalling {
		if err := r.beginUninstall(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.beforeObjects(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// endsWithHome reports whether the stored releases of an app, which its account is not allowed to read, go with the app's namespace: its rights are gone
// before it, and no hook can be created there any more.
func (e *Engine) endsWithHome(ctx context.Context, a app.App, refused error) (bool, error) {
	if a.Account.IsSelf() || a.Release.Storage != a.Key.Namespace || outlook(report.PruneFailed, refused) != live.Doubtful {
		return false, nil
	}
	return e.isHomeEnding(ctx, a)
}

// renderStored reads the hooks of the newest stored release.
func (r *appRun) renderStored(ctx context.Context) error {
	text, err := r.chart.stored[0].Text()
	if err != nil {
		return err
	}
	r.chart.runs, r.chart.made = releases.HookRuns(text), &release.Release{}
	if r.app.Release.Uninstall.Hooks == hook.SkipHooks {
		return nil
	}
	if err := r.hideValues(ctx); err != nil {
		return err
	}
	q := r.app.Release.Template
	q.Release, q.Namespace, q.Mode, q.Newest = r.app.Release.Name, r.app.Release.Namespace, release.Replay, &release.Stored{Text: text}
	res, err := r.engine.Render.Render(ctx, render.Request{Files: noFiles{}, Path: ".", Chart: &q})
	if err == nil {
		r.chart.made = res.Release
	}
	return err
}

// hideValues masks in what hooks answer the values of a deleted app that Secrets still have. Those of a Secret that is gone are not known any more.
func (r *appRun) hideValues(ctx context.Context) error {
	home, err := r.home()
	if err != nil {
		return err
	}
	var known []string
	for _, from := range r.app.Release.From {
		if from.Kind != "Secret" {
			continue
		}
		all, err := values.ReadChartValues(ctx, home.Live, r.app.Key.Namespace, []release.Reference{from})
		if errors.Is(err, live.ErrUnanswered) {
			return err
		}
		known = append(known, values.SecretTexts(all)...)
	}
	r.secrets = redact.KnownOrNil(known)
	return nil
}

// noFiles is a tree without files.
type noFiles struct{ fstest.MapFS }

// Sum implements source.Tree.
func (noFiles) Sum(name string) (string, error) {
	return "", fmt.Errorf("sum %s: %w", name, errors.ErrUnsupported)
}

// awaitTermination has a prune wait for the objects of a release.
func (m removal) awaitTermination(run *pruneRun) {
	if m.release != nil {
		m.release.awaitTermination(run)
	}
}

// end runs the hooks that come after the objects, and deletes the stored releases. late says which objects are still there after the timeout.
func (m removal) end(ctx context.Context, late string, saved *inventory.Record) error {
	if m.release != nil {
		return m.release.endUninstall(ctx, late)
	}
	return m.hooks.end(ctx, saved)
}
