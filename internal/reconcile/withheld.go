package reconcile

import (
	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release/hook"
)

// deployedBefore is the release whose objects are in the cluster where the newest one has failed before its own; nil for none.
func (r *appRun) deployedBefore() *releases.Stored {
	if len(r.chart.stored) == 0 || r.chart.stored[0].Stage != hook.HooksFailed {
		return nil
	}
	for i, s := range r.chart.stored {
		if s.Status == hook.Deployed {
			return &r.chart.stored[i]
		}
	}
	return nil
}

// withhold has nothing written to the objects while the newest release is a failed one about which nothing more is done: helm-controller leaves them as
// the failure has left them, and what a hook before them has kept from being applied must not be.
func (r *appRun) withhold(on bool) {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.withheld = on
	r.state.app = r.state.betweenRollouts(r.asked)
}

// isWithheld reports whether nothing is written to the objects, see withhold.
func (r *appRun) isWithheld() bool {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.withheld
}

// betweenRollouts is App.BetweenRollouts, as far as anything may be written. The caller holds mu.
func (s *appState) betweenRollouts(a app.App) app.App {
	a = a.BetweenRollouts()
	a.OnlyApplied = s.exhausted.key != ""
	if s.withheld && a.Policy.Mode == app.Enforce {
		a.Policy.Mode = app.Await
	}
	return a
}
