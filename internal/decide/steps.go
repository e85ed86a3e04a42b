package decide

import (
	"fmt"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// mayWrite reports whether anything may be written to the object: with remediation off only what Git has changed is.
func mayWrite(in Input) bool {
	return reasonToWait(in) == "" && (in.Changed || in.Policy.Remediation != policy.ReportOnly)
}

// planSteps turns verdicts into writes. Handing over comes first: a field that we let go of without another owner is reset
// to its default by the API server. Taking back comes before applying, or what Git dropped would stay.
func planSteps(in Input, p Plan) []Step {
	ours := ownership.ApplyEntry(in.Owners, ownership.Manager)
	why := reasonToApply(in, p, ours)
	var out []Step
	hand := unownedClaims(in, p)
	if why != "" {
		hand = unionPaths(hand, toHandOver(in, p, ours))
	}
	if len(hand) > 0 {
		out = append(out, Step{Verb: Handover, Paths: hand, Body: handoverBody(in, hand),
			Reason: "another owner keeps the value when truce stops applying it"})
	}
	paths := toRetake(in, p, ours)
	if len(paths) > 0 {
		out = append(out, Step{Verb: Retake, Paths: paths, Reason: "the value is Git's, the ownership was lost or shared"})
	}
	out = append(out, removeSteps(in, p.Findings, paths)...)
	if why != "" {
		out = append(out, Step{Verb: Apply, Body: applyBody(in, p), Reason: why})
	}
	return out
}

func reasonToApply(in Input, p Plan, ours ownership.Shape) string {
	for _, f := range p.Findings {
		if f.Verdict == Correct && f.Kind != compare.Added {
			return f.Reason
		}
	}
	if in.Changed && !onlyWithheldChanged(in, p) {
		return "Git has a new version of the object"
	}
	for _, w := range in.CededPaths() {
		if _, part := ownership.AtomicAncestor(in.Owners, w); !part && len(ours.Below(w)) > 0 {
			return field.PathString(w) + " is no longer applied"
		}
	}
	for _, p := range in.Compared.Released {
		return "Git takes back " + field.PathString(p)
	}
	for _, f := range p.Removed() {
		return f.Reason
	}
	return ""
}

// onlyWithheldChanged reports whether all that Git changed is withheld: then what would be sent is what was sent before.
func onlyWithheldChanged(in Input, p Plan) bool {
	if in.Previous == nil {
		return false
	}
	p.Withheld = unionPaths(append([]field.Path(nil), p.Withheld...), in.CededPaths()) // also those that one of the two does not name
	before := in
	before.Desired = in.Previous
	return maps.EqualFunc(applyBody(before, p), applyBody(in, p), field.EqualValues)
}

// unionPaths adds what is not yet in the list.
func unionPaths(list, more []field.Path) []field.Path {
	for _, p := range more {
		if !contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

func contains(list []field.Path, p field.Path) bool {
	return slices.ContainsFunc(list, p.Equals)
}

// coversPath reports whether p or an ancestor of it is in the list.
func coversPath(list []field.Path, p field.Path) bool {
	return slices.ContainsFunc(list, func(q field.Path) bool { return field.HasPrefix(p, q) })
}

// String returns the step in a few words: "apply: drift: changed by kubectl (scale)".
func (s Step) String() string { return fmt.Sprintf("%s: %s", s.Verb, s.Reason) }
