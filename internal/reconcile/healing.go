package reconcile

import (
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// noteHealing reports the correction of drift as an operation if it fails, and until it succeeds: where Argo CD heals itself, that is one.
func (r *appRun) noteHealing() {
	o := r.report.Rollout
	healing := o.Healing && o.Reason != report.Succeeded
	failed := r.report.Reason == report.ApplyFailed && r.report.Outlook != live.Passing && len(r.problems) > 0
	switch {
	case !r.heals():
	case failed && (healing || o.Begun.IsZero() || o.Reason == report.Succeeded):
		next := report.Rollout{
			Healing: true, Revision: r.report.Revision, Begun: r.report.At, Ended: r.engine.Now(), Reason: r.report.Reason, Message: r.report.Message,
			Outcomes: r.failedOutcomes(),
		}
		if healing {
			next.Begun, next.Tries = o.Begun, o.Tries+1
		}
		r.report.Rollout = next
	case healing && r.report.Stage == report.Done:
		o.Ended, o.Reason, o.Message, o.Outcomes = r.engine.Now(), report.Succeeded, "", broughtOutcomes(o.Outcomes)
		r.report.Rollout = o
	}
}

// heals reports whether the run puts drift back outside of an operation.
func (r *appRun) heals() bool {
	return r.asked.Rollout == app.IfChanged && r.asked.Policy.Remediation == policy.Remediate && r.asked.Policy.Mode == policy.Enforce &&
		r.purpose != rollingOut && !r.purpose.comparesOnly() && !r.app.OnlyApplied && !r.canceled && r.applies
}

// failedOutcomes are the objects that could not be applied.
func (r *appRun) failedOutcomes() []report.Outcome {
	var out []report.Outcome
	for _, id := range r.state.objects() {
		if o, known := r.viewOf(id); known && o.Problem != "" {
			out = append(out, report.Outcome{ListedObject: report.ListedObject{ID: id, Version: o.Version}, Fate: report.Failed, Message: o.Problem})
		}
	}
	return out
}

// broughtOutcomes is what has become of the objects of an operation that has succeeded.
func broughtOutcomes(before []report.Outcome) []report.Outcome {
	var out []report.Outcome
	for _, o := range before {
		out = append(out, report.Outcome{ListedObject: o.ListedObject, Fate: report.Brought})
	}
	return out
}

func (r *appRun) viewOf(id object.ID) (report.Object, bool) {
	rec := r.engine.lookup(id)
	if rec == nil {
		return report.Object{}, false
	}
	return rec.view(), true
}
