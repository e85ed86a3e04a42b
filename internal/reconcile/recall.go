package reconcile

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/releases"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
)

// recall completes the attempts by a failure that the custom resource does not say: the process that saw it was killed before it had written the status. The
// failure is that of the newest stored release, or of the one that a rollback follows. What was attempted is what is asked for now, or it does not count.
func (r *appRun) recall(known, asked remedy.Attempts) remedy.Attempts {
	if len(r.chart.stored) == 0 || r.chart.stored[0].ByOthers || known.Action == "" || known != known.For(asked.Generation, asked.Version, asked.Config) {
		return known
	}
	failures := &known.Upgrade
	if known.Action == string(hook.Install) {
		failures = &known.Install
	}
	uncounted := false
	if r.chart.stored[0].Status == hook.Uninstalling { // which is a remedy
		uncounted = !r.chart.isFormer && *failures == 0
	} else if failed, text := r.lastFailed(); text != nil {
		r.chart.failure = hook.Step(known.Action)
		_, r.chart.cause, _ = strings.Cut(releases.Description(text), " failed: ")
		uncounted = !slices.Contains(r.app.Release.Failed, failed.Revision)
	}
	if uncounted {
		known.All++
		*failures++
	}
	return known
}

// lastFailed is the release of truce's that has failed last, and its JSON; nil where something has worked since that is no rollback.
func (r *appRun) lastFailed() (releases.Stored, []byte) {
	for i, s := range r.chart.stored {
		text, err := s.Text()
		switch {
		case err != nil || s.ByOthers || i > 1:
			return s, nil
		case s.Status == hook.FailedRelease && releases.RollbackTarget(text) == 0:
			return s, text
		case releases.RollbackTarget(text) == 0:
			return s, nil
		}
	}
	return releases.Stored{}, nil
}
