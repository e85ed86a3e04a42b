package flux

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// maxFieldNames is how many things a sentence names before it counts the rest: `kubectl get` shows it on one line.
const maxFieldNames = 3

// summary is the message of a ready app. It names fields, never values.
func summary(r report.Report) string {
	out := []string{"Applied revision: " + r.Revision}
	if r.Applied != r.Revision {
		out[0] = nothingApplied(r)
	}
	return strings.Join(append(out, remarks(r)...), "; ")
}

func nothingApplied(r report.Report) string {
	return "Checked revision: " + r.Revision + " (nothing was applied)"
}

// remarks say what is to be known of a run that has succeeded.
func remarks(r report.Report) []string {
	var out []string
	if ceded := describeFields(r, cededField, func(f report.Finding) bool { return f.Verdict == decide.Cede }); len(ceded) > 0 {
		out = append(out, countNoun(len(ceded), "field")+" ceded: "+joinLimited(ceded))
	}
	if text := r.Drift(); text != "" {
		out = append(out, text)
	}
	if reported := describeFields(r, reportedField, func(f report.Finding) bool { return f.Reported }); len(reported) > 0 {
		out = append(out, countNoun(len(reported), "addition")+" reported: "+joinLimited(reported))
	}
	if h := r.State().Health; isUnhealthy(h) {
		out = append(out, string(h.Code)+": "+h.Message)
	}
	for _, s := range r.Shared {
		out = append(out, s.String())
	}
	return append(out, r.Notes...)
}

// problemsOf lists what is wrong with single objects.
func problemsOf(r report.Report) string {
	var out []string
	for _, o := range r.Objects {
		if o.Problem != "" {
			out = append(out, o.ID.String()+": "+o.Problem)
		}
	}
	return strings.Join(out, "; ")
}

func describeFields(r report.Report, say func(object.ID, report.Finding) string, choose func(report.Finding) bool) []string {
	var out []string
	for _, x := range r.FindingsWhere(choose) {
		out = append(out, say(x.ID, x.Finding))
	}
	return out
}

// reportedField says of a pause by whom it is: truce waits for that person.
func reportedField(id object.ID, f report.Finding) string {
	if f.PausedBy != "" {
		return f.FieldName(id) + " (paused by " + f.PausedBy + ")"
	}
	return f.FieldName(id)
}

// cededField distinguishes a claimant, which is an object, from a rule, which is a field of the Kustomization.
func cededField(id object.ID, f report.Finding) string {
	switch {
	case f.Claimant == "":
		return f.FieldName(id)
	case f.IsCededByRule():
		return f.FieldName(id) + " by " + f.Claimant + f.NotAppliedText()
	}
	return f.FieldName(id) + " to " + f.Claimant + f.NotAppliedText()
}

func joinLimited(items []string) string {
	if len(items) <= maxFieldNames {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:maxFieldNames], ", "), len(items)-maxFieldNames)
}

func countNoun(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
