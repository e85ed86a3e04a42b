package decide

import (
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// IsOptedOut reports whether Git itself asks not to apply the object: then nothing of it is compared.
func (in Input) IsOptedOut() bool {
	t := in.Treatment
	return t.Paused == "" && (t.Effect == optout.NeverApply || t.Effect == optout.CreateOnly && in.Live != nil)
}

// judgeOptOut is the plan for an object that Git asks not to apply. It is ceded as a whole, so that the app says so.
func judgeOptOut(in Input) (Plan, bool) {
	if !in.IsOptedOut() {
		return Plan{}, false
	}
	f := Finding{
		Difference: compare.Difference{Kind: compare.Unmanaged, Writer: ownership.Writer{Evidence: ownership.Unknown}},
		Verdict:    Cede, Claimant: in.Treatment.Mark, Reason: in.Treatment.Mark + " in Git: the object is not applied, and not compared",
	}
	switch {
	case in.Treatment.Effect == optout.CreateOnly:
		f.Reason = in.Treatment.Mark + " in Git: the object is created once, and not compared afterwards"
	case in.Live == nil:
		f.Kind, f.Reason = compare.Missing, in.Treatment.Mark+" in Git: the object is not created"
	}
	return Plan{Findings: []Finding{f}}, true
}

// pausedObject is the finding of a pause that stands on the live object alone.
func pausedObject(in Input) []Finding {
	if in.Treatment.Paused == "" {
		return nil
	}
	d := pauseMark(in)
	flag := "annotate"
	if _, labelled := in.Live.Label(in.Treatment.Paused); labelled {
		flag = "label"
	}
	return []Finding{{
		Difference: d, Verdict: Hold, Reported: true, PausedBy: pauseWriter(in), Reason: pausedBy(in) + "; nothing of the object is corrected or pruned until it is removed",
		Remedy: fmt.Sprintf("to resume: kubectl %s %s %s-", flag, inKubectl(in), in.Treatment.Paused),
	}}
}

// pauseMark is the annotation or label that pauses the live object.
func pauseMark(in Input) compare.Difference {
	where := "annotations"
	if _, labelled := in.Live.Label(in.Treatment.Paused); labelled {
		where = "labels"
	}
	p := field.NewPath("metadata", where, in.Treatment.Paused)
	live, _ := field.ValueAt(in.Live, p)
	d := compare.Difference{Path: p, Kind: compare.Added, Live: redact.HideValue(live), Writer: ownership.WriterOf(in.Owners, p)}
	d.Writer = attributeWriter(in, d, claim.Claim{})
	return d
}

func isPauseMark(in Input, p field.Path) bool {
	return in.Treatment.Paused != "" && len(p) == 3 && pauseMark(in).Path.Equals(p)
}

func pausedBy(in Input) string {
	return "paused by " + pauseWriter(in) + ": " + in.Treatment.Mark + " on the live object"
}

// pauseWriter says who has paused the live object; empty where nothing says that it is paused.
func pauseWriter(in Input) string {
	if in.Treatment.Paused == "" {
		return ""
	}
	return pauseMark(in).Writer.String()
}

// inKubectl names the object as kubectl takes it.
func inKubectl(in Input) string {
	id := in.Desired.ID()
	text := kubectlKind(id) + "/" + id.Name
	if id.Namespace != "" {
		text += " -n " + id.Namespace
	}
	return text
}

func kubectlKind(id object.ID) string {
	if id.Group == "" {
		return strings.ToLower(id.Kind)
	}
	return strings.ToLower(id.Kind) + "." + id.Group
}
