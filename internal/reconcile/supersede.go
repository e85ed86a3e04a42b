package reconcile

import (
	"context"
	"slices"

	"github.com/truce-gitops/truce/internal/apply/releases"
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
	for i, s := range old {
		if !isBefore(s) {
			continue
		}
		next, err := r.chart.store.Update(ctx, s, releases.State{Status: hook.Superseded})
		if err != nil {
			return err
		}
		old[i] = next
	}
	r.reportRelease()
	return r.chart.store.Trim(ctx, r.chart.stored, r.app.Release.MaxHistory)
}
