package reconcile

import (
	"slices"

	"github.com/truce-gitops/truce/internal/apply/releases"
)

// isForced reports whether another release is asked for, whatever is released, by a request that neither this process nor one before has answered.
func (r *appRun) isForced() bool {
	token := r.app.Release.Force
	return token != "" && (r.report.Release == nil || r.report.Release.Force != token) &&
		!slices.ContainsFunc(r.chart.stored, func(s releases.Stored) bool { return s.Memory.Force == token })
}

// answeredForce is the token of the newest request for another release that this run, or one before it, has answered.
func (r *appRun) answeredForce() string {
	if r.chart.isForceOpen {
		return r.chart.stored[0].Memory.Force
	}
	return r.app.Release.SeenForce
}
