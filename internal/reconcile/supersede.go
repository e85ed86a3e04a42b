package reconcile

import (
	"context"
	"slices"

	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/decide/lifecycle"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// atRest ends what a process that was killed has left of deployed.
func (r *appRun) atRest(ctx context.Context) error {
	if newest := r.chart.stored[0]; newest.Status == hook.Deployed && !newest.ByOthers {
		if err := r.supersede(ctx, hook.Keep); err != nil {
			return &stageError{report.ApplyFailed, err}
		}
	}
	return r.afterRest(ctx)
}

// supersede says of the releases before the newest that they are not deployed any more. As in Helm, an upgrade supersedes the one before it also where that
// has failed and none was deployed.
func (r *appRun) supersede(ctx context.Context, action hook.Step) error {
	isBefore := func(s releases.Stored) bool { return s.Status == hook.Deployed || s.Status == hook.Uninstalled }
	old := r.chart.stored[1:]
	if action == hook.Keep && !slices.ContainsFunc(old, isBefore) {
		return nil
	}
	if action == hook.Upgrade && len(old) > 0 && !slices.ContainsFunc(old, isBefore) {
		isBefore = func(s releases.Stored) bool { return s.Revision == old[0].Revision }
	}
	if err := r.supersedeThose(ctx, isBefore); err != nil {
		return err
	}
	r.reportRelease()
	return r.trimReleases(ctx)
}

// supersedeThose says of some of the releases before the newest that another one is in their place.
func (r *appRun) supersedeThose(ctx context.Context, are func(releases.Stored) bool) error {
	old := r.chart.stored[1:]
	for i, s := range old {
		if !are(s) {
			continue
		}
		next, err := r.chart.store.Update(ctx, s, releases.State{Status: hook.Superseded})
		if err != nil {
			return err
		}
		old[i] = next
	}
	return nil
}

// trimReleases deletes the oldest stored releases beyond the number that is asked for. What is rolled back to, or would be if the newest fails, stays.
func (r *appRun) trimReleases(ctx context.Context) (err error) {
	keep := r.chart.decision.Target
	if keep == 0 {
		keep = lifecycle.Input{Stored: r.storedReleases(), Spec: *r.app.Release}.RollbackTarget()
	}
	r.chart.stored, err = r.chart.store.Trim(ctx, r.chart.stored, r.app.Release.MaxHistory, keep)
	return err
}

// storedReleases are the stored releases as decisions about them need them.
func (r *appRun) storedReleases() (out []lifecycle.Stored) {
	for _, s := range r.chart.stored {
		out = append(out, lifecycle.Stored{Revision: s.Revision, Status: s.Status, Tests: r.testsOf(s), ByOthers: s.ByOthers})
	}
	return out
}
