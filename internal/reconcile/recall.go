package reconcile

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
)

// recall completes the attempts by a failure that the custom resource does not say: the process that saw it was killed before it had written the status. The
// newest stored release remembers it. What was attempted is what is asked for now, or it does not count.
func (r *appRun) recall(known, asked remedy.Attempts) remedy.Attempts {
	if len(r.chart.stored) == 0 || r.chart.stored[0].ByOthers {
		return known
	}
	now := r.chart.stored[0].Memory.Attempts
	if !now.AreFor(asked.Generation, asked.Version, asked.Config) {
		return known
	}
	now.Version = asked.Version
	if known = known.For(asked.Generation, asked.Version, asked.Config); now.All > known.All || known.Action == "" || r.isReset(r.app.Release.Reset) {
		known = now
	}
	r.chart.failure, r.chart.cause = r.chart.stored[0].Memory.Failure, r.chart.stored[0].Memory.Cause
	return known
}

// isReset reports whether a request to forget the attempts has been answered, by this process or by one before it.
func (r *appRun) isReset(token string) bool {
	if last := r.report.Release; token == "" || last != nil && last.Reset == token {
		return token != ""
	}
	return slices.ContainsFunc(r.chart.stored, func(s releases.Stored) bool { return s.Memory.Reset == token })
}

// memory is what a stored release says beside Helm's own words, see releases.Memory.
func (r *appRun) memory() *releases.Memory {
	return &releases.Memory{
		App:      r.app.Key.String(),
		Attempts: r.chart.attempts, Reset: r.app.Release.SeenReset, Force: r.answeredForce(), Failure: r.chart.failure, Cause: r.chart.cause,
	}
}

// recallRemedy says of a failure that an earlier process saw that the newest release remedies it, and how that is.
func recallRemedy(now *release.Installed, text []byte) {
	target := releases.RollbackTarget(text)
	if now.Failure == hook.Keep || target == 0 {
		return
	}
	now.Action, now.Target = hook.Rollback, target
	switch now.Status {
	case hook.Deployed:
		now.Ended = remedy.EndedWell
	case hook.FailedRelease:
		now.Ended = remedy.EndedFailed
		_, now.RemedyCause, _ = strings.Cut(releases.Description(text), " failed: ")
	default: // it is under way
	}
}
