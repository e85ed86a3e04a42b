package cli

import (
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// countDrifts counts the fields that are not as Git wants them. Ceded ones and reported additions are none.
func countDrifts(o report.Object) int { return countFindings(o, report.Finding.Differs) }

func countCeded(o report.Object) int {
	return countFindings(o, func(f report.Finding) bool { return f.Verdict == decide.Cede })
}

func reports(o report.Object) int {
	return countFindings(o, func(f report.Finding) bool { return f.Reported })
}

func countFindings(o report.Object, is func(report.Finding) bool) int {
	n := 0
	for _, f := range o.Findings {
		if is(f) {
			n++
		}
	}
	return n
}

// stateOf is the app's state as the run without writes found it. How its health checks stand is known to the controller alone: they may be about
// objects of others, and have a timeout.
func stateOf(d view.Detail) report.State {
	r := d.Report
	for _, id := range d.Leaving {
		r.Leaving = append(r.Leaving, report.ListedObject{ID: id})
	}
	s, end := r.State(), d.Recorded.End
	if d.App.Policy.Mode == policy.Enforce && (end.Reason == report.AwaitingHealth || end.Reason == report.HealthFailed) {
		s.Health = end.Health(s.Health)
	}
	if d.Standing.Code != "" {
		s.Health = d.Standing
	}
	if d.App.Suspended {
		return s.Suspend()
	}
	return s
}

// whyLeaving says what becomes of an object that Git no longer names.
func whyLeaving(d view.Detail, id object.ID) string {
	if kept := d.Prune.Keep[id].Why; kept != "" {
		return "no longer in Git, and not pruned: " + kept
	}
	if held := heldApproval(d.Recorded); held != "" && held == d.Prune.Token {
		return "no longer in Git: waits for approval, see truce app approve-prune"
	}
	return "no longer in Git: to be pruned"
}

// fieldPath prints a field as people write it: spec.replicas.
func fieldPath(f report.Finding) string { return strings.TrimPrefix(field.PathString(f.Path), ".") }

func fullName(id object.ID) string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}
