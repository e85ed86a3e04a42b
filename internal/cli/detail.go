package cli

import (
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/report"
)

// standing is whether an object is as Git wants, as a run without writes sees it: what it has compared and found equal is
// in sync, whether the controller has applied it or not.
func standing(o report.Object) report.Sync {
	if o.Problem != "" || drifts(o) > 0 {
		return report.OutOfSync
	}
	return report.Synced
}

// drifts counts the fields that are not as Git wants them. Ceded ones and reported additions are none.
func drifts(o report.Object) int { return countFindings(o, decide.Finding.Differs) }

func cedes(o report.Object) int {
	return countFindings(o, func(f decide.Finding) bool { return f.Verdict == decide.Cede })
}

func reports(o report.Object) int {
	return countFindings(o, func(f decide.Finding) bool { return f.Reported })
}

func countFindings(o report.Object, is func(decide.Finding) bool) int {
	n := 0
	for _, f := range o.Findings {
		if is(f) {
			n++
		}
	}
	return n
}

// syncOf is whether an app is as Git wants.
func syncOf(d Detail) report.Sync {
	if stoppedAt(d.Report.Stage, d.Report.Reason) != ExitSame {
		return report.Unknown
	}
	if len(d.Leaving) > 0 {
		return report.OutOfSync
	}
	for _, o := range d.Report.Objects {
		if standing(o) == report.OutOfSync {
			return report.OutOfSync
		}
	}
	return report.Synced
}

// path prints a field as people write it: spec.replicas.
func path(f decide.Finding) string { return strings.TrimPrefix(field.String(f.Path), ".") }

func fullName(id object.ID) string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}
