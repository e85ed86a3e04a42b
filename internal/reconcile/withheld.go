package reconcile

import (
	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
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

// withholding is what is not written to the objects while a failed release is left as it is.
type withholding uint8

// The values of withholding.
const (
	withholdsNothing withholding = iota
	// withholdsValues has ownership and truce's marks written alone: an adopted app's release had failed before the adoption.
	withholdsValues
	// withholdsAll has nothing written.
	withholdsAll
)

// withhold has nothing written to the objects while the newest release is a failed one about which nothing more is done: helm-controller leaves them as
// the failure has left them, and what a hook before them has kept from being applied must not be. An adoption takes them over as they are.
func (r *appRun) withhold(blocked remedy.Blocked) {
	withheld := withholdsNothing
	switch {
	case blocked == remedy.NotBlocked || len(r.chart.stored) == 0 || r.chart.stored[0].Status != hook.FailedRelease:
	case r.chart.stored[0].ByOthers && r.app.Adoption.Takes():
		withheld = withholdsValues
	default:
		withheld = withholdsAll
	}
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	r.state.withheld = withheld
	r.state.app = r.state.betweenRollouts(r.asked)
}

// withheld is what is not written to the objects, see withhold.
func (r *appRun) withheld() withholding {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	return r.state.withheld
}

// betweenRollouts is App.BetweenRollouts, as far as anything may be written. The caller holds mu.
func (s *appState) betweenRollouts(a app.App) app.App {
	a = a.BetweenRollouts()
	a.OnlyApplied = s.exhausted.key != ""
	switch {
	case a.Policy.Mode != policy.Enforce || s.withheld == withholdsNothing:
	case s.withheld == withholdsValues:
		a.Policy.Remediation = policy.ReportOnly
	default:
		a.Policy.Mode = policy.Await
	}
	return a
}
