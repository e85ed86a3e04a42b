package reconcile

import (
	"context"
	"errors"
	"fmt"
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
	if spec.Former == nil || r.app.Policy.Mode != policy.Enforce {
		return nil
	}
	return r.listFormer(ctx, *spec.Former)
}

// listFormer reads the stored releases of the former name. While the newest of them is this app's, the run is about that one.
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
	return known && err == nil && (s.ByOthers || releases.DigestOf(text) == digest)
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
	if r.chart.stored[0].Stage != hook.After {
		if err := r.deleteObjects(ctx); err != nil {
			return err
		}
	}
	if r.app.Release.History != record.KeepHistory && r.chart.replaced == "" && r.isUnwritten() {
		r.reportAction(hook.Uninstall, remedy.UnderWay, "") // an earlier process may have begun it
		r.report.Again = statusWait
		return &stageError{report.InProgress, fmt.Errorf("release %s/%s is being uninstalled: its status is to say first that it has failed, as nothing else does then", r.app.Release.Namespace, r.app.Release.Name)}
	}
	err := r.endUninstall(ctx)
	var failed *hooks.HookError
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

// reportUninstalled reports that the release is uninstalled, and which hook has failed behind that; nil for none.
func (r *appRun) reportUninstalled(failed *hooks.HookError) {
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
	return r.setRelease(ctx, releases.State{Status: hook.Uninstalling, Description: "Deletion in progress (or silently failed)", Deleted: r.engine.Now(), Hooks: r.chart.runs})
}

// deleteObjects deletes what the app has made.
func (r *appRun) deleteObjects(ctx context.Context) error {
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
	err := run.execute(ctx, &r.inventory, r.inventory.Entries)
	return r.engine.saveAfterPrune(ctx, r.inventory, err)
}

// endUninstall runs the hooks that come after the objects, and deletes the stored releases, or says that the newest is uninstalled. It does so also where
// one of these hooks has failed, as Helm does, and returns that failure: the objects are gone, and the next try finds nothing that is left to do.
func (r *appRun) endUninstall(ctx context.Context) error {
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
	var err error
	if r.app.Release.History == record.KeepHistory {
		err = r.keepUninstalled(ctx)
	} else if err = r.chart.store.Clear(ctx, r.chart.stored); err == nil {
		r.chart.stored = nil
	}
	if err != nil {
		return &stageError{report.PruneFailed, err}
	}
	if hooksErr == nil {
		r.noteRelease(hook.Uninstall, newest)
	}
	return hooksErr
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

// end runs the hooks that come after the objects, and deletes the stored releases.
func (m removal) end(ctx context.Context, saved *inventory.Record) error {
	if m.release != nil {
		return m.release.endUninstall(ctx)
	}
	return m.hooks.end(ctx, saved)
}
