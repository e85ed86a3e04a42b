// Package findings answers: what is sent of a finding?
//
// In: a finding as the engine reports it, or as the journal has it.
// Out: a message with its evidence, and the matter that it is about.
// Promise: the same finding gives the same message; its values are masked, as those of every report.Finding are.
// Not here: who gets it (notify/route), whether it was sent before (notify/matter), news of runs (controller).
package findings

import (
	"strings"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// MatterOf returns the matter of a difference that holds.
func MatterOf(id object.ID, f report.Finding) notify.Matter {
	return matterOfFinding(id, field.PathString(f.Path), f, false)
}

// Message returns what is sent of a finding about the field with a printed path, which the journal knows alone. The app's custom resource is not in it.
func Message(n report.FindingEvent, path string) notify.Message {
	m := notify.Message{Evidence: evidence(n, path), Matter: matterOfFinding(n.ID, path, n.Finding, n.Carried)}
	m.Event = notify.Event{Severity: notify.Info, Reason: "DriftDetected", Text: n.Finding.SentenceAt(n.ID, path)}
	switch {
	case n.Without != "":
		m.Matter = notify.Matter{}
		m.Event = notify.Event{Severity: notify.Error, Reason: "ClaimEnds", Text: n.Finding.CountDropWarning(n.ID, n.Without)}
	case n.Carried:
		m.Reason = "DriftCorrected"
	case n.Finding.Verdict == decide.Cede:
		m.Reason = "FieldCeded"
	case n.Finding.Reported:
		m.Reason = "AdditionReported"
	case n.Finding.Verdict == decide.Hold:
		m.Severity = notify.Error
	case n.Finding.Verdict == decide.Contested:
		m.Severity, m.Reason = notify.Error, "FieldContested"
	}
	return m
}

// matterOfFinding is what a finding's message is about. Carried says that the difference is gone.
func matterOfFinding(id object.ID, path string, f report.Finding, carried bool) notify.Matter {
	m := notify.Matter{Kind: matter.Drift, Object: id.String(), Field: path, Phase: notify.Opens}
	git := report.FormatValue(f.Desired)
	switch m.Form = strings.Join([]string{string(f.Verdict), git, f.Writer.String()}, " "); {
	case carried:
		m.Phase, m.Form = notify.Ends, ""
	case f.Verdict == decide.Cede:
		m.Kind, m.Form = matter.Ceded, f.Claimant+" "+f.NotApplied
	case f.Reported:
		m.Kind = matter.Addition
	case f.Verdict == decide.Contested:
		m.Kind, m.Form = matter.Contested, git+" "+f.Writer.String()
	default:
		m.Detail = report.FormatValue(f.Live)
	}
	return m
}

// evidence is what a message says of a finding beside its sentence.
func evidence(n report.FindingEvent, path string) map[string]string {
	f := n.Finding
	out := map[string]string{
		notify.FactObject: n.ID.String(), notify.FactField: path, notify.FactVerdict: string(f.Verdict),
		notify.FactGit: report.FormatValue(f.Desired), notify.FactLive: report.FormatValue(f.Live),
	}
	for name, value := range map[string]string{
		notify.FactWriter: f.Writer.String(), notify.FactCertainty: string(f.Writer.Evidence), notify.FactClaimant: f.Claimant, notify.FactBecause: f.Reason,
		notify.FactSource: n.Source, notify.FactNext: nextStep(f),
	} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// nextStep is what the reader of a message can do.
func nextStep(f report.Finding) string {
	if f.Remedy == "" && f.Verdict == decide.Correct && f.Live != nil {
		return "to keep " + report.FormatValue(f.Live) + ", commit it"
	}
	return f.Remedy
}
