package decide

import (
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// addedAt returns the addition that a difference reports, and whether it does.
func addedAt(in Input, d compare.Difference) (compare.Addition, bool) {
	if d.Kind != compare.Added {
		return compare.Addition{}, false
	}
	for _, a := range in.Compared.Added {
		if a.Path.Equals(d.Path) {
			return a, true
		}
	}
	return compare.Addition{}, false
}

// judgeAdded gives an addition its verdict. Whatever the policy is, it is shown; removed is what no one else owns and what came after truce.
func judgeAdded(in Input, d compare.Difference, a compare.Addition) (Finding, time.Time) {
	if in.Switches.Stops(in.Live, d.Path, d.Live.Reveal()) {
		return stopped(in, d), time.Time{}
	}
	left := reasonToLeaveCount(in, d)
	if left == "" {
		left = reasonToLeave(in.Policy.Additions, a, d.Writer.String())
	}
	why := reasonToWait(in)
	if why == "" {
		why = left
	}
	if why != "" {
		return Finding{Difference: d, Verdict: Hold, Reason: why, Reported: left != "", PausedBy: pauseWriter(in)}, time.Time{}
	}
	f, again := judgeDrift(in, d)
	if f.Verdict == Correct {
		f.Reason = "added by " + d.Writer.String() + ", and Git does not name it"
	}
	if len(a.Held) == 0 && f.Verdict == Correct {
		f.Reason = "an addition that truce has begun to take away"
	}
	return f, again
}

// stopped is the finding of a custom resource that was suspended by hand: whatever the policy is, the brake holds.
func stopped(in Input, d compare.Difference) Finding {
	by, at := d.Writer.String(), field.PathString(d.Path)
	return Finding{
		Difference: d, Verdict: Hold, Reported: true, PausedBy: by,
		Reason: fmt.Sprintf("suspended by %s: %s is set, and Git does not name it; it stays until it is removed by hand, or Git names it", by, at),
		Remedy: "to resume: kubectl edit " + inKubectl(in) + ", and remove the line",
	}
}

// reasonToLeaveCount says why an addition that is a workload's count, has it, or may be it, stays whatever the policy is; empty for any other.
func reasonToLeaveCount(in Input, d compare.Difference) string {
	_, named := field.ValueAt(in.Desired, in.Count)
	_, there := field.ValueAt(in.Live, in.Count)
	_, whole := d.Live.Reveal().(int64)
	switch {
	case len(in.Count) > 0 && !named && there && field.HasPrefix(in.Count, d.Path):
		return "set by " + d.Writer.String() + "; Git names no count, and without one the default would hold: it stays"
	case in.CountHidden && whole && field.HasPrefix(d.Path, field.NewPath("spec")):
		return "set by " + d.Writer.String() + "; it may be the count, as the CustomResourceDefinition, which says where that is, may not be read: it stays"
	}
	return ""
}

// reasonToLeave says why an addition is only reported; empty where it may go.
func reasonToLeave(allowed policy.ManualChanges, a compare.Addition, by string) string {
	switch {
	case len(a.Held) == 0:
		return "" // it is ours already: the next apply takes it away in any case
	case a.Kept != "":
		return "added by " + by + ", and left: " + a.Kept
	case allowed == policy.AdditionsCorrect:
		return ""
	case allowed == policy.AdditionsPeople && a.People:
		return ""
	case allowed == policy.AdditionsPeople:
		return "added by " + by + ", which is no tool of people: reported only (truce.dev/additions: correct takes it away)"
	}
	return "added by " + by + ": additions are reported only (truce.dev/additions: correct takes them away)"
}

// removeSteps is the step by which additions become ours, so that the apply that follows takes them away: two writes that the server
// checks, instead of an edit that it does not know the meaning of.
func removeSteps(in Input, findings []Finding, taken []field.Path) []Step {
	s := Step{Verb: Retake, Reason: "what was added becomes truce's, and is left out of the next apply"}
	for _, f := range findings {
		a, ok := addedAt(in, f.Difference)
		if !ok || f.Verdict != Correct || len(a.Held) == 0 {
			continue
		}
		for _, p := range a.Owned {
			if !contains(taken, p) || !a.People {
				s.Paths = unionPaths(s.Paths, []field.Path{p})
			}
		}
		s.From = append(s.From, a.Held...)
	}
	if len(s.Paths) == 0 {
		return nil
	}
	return []Step{s}
}

// Removed lists the findings of additions that a plan takes away.
func (p Plan) Removed() []Finding {
	var out []Finding
	for _, f := range p.Findings {
		if f.Kind == compare.Added && f.Verdict == Correct {
			out = append(out, f)
		}
	}
	return out
}
