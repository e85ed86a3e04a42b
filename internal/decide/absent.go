package decide

import (
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// IsDone reports whether the object has done its work as Git describes it, and is gone for that: there is nothing to put back.
func (in Input) IsDone() bool { return in.Live == nil && in.Expired && !in.Changed }

// judgeMissing judges an object that is not in the cluster.
func judgeMissing(in Input) Plan {
	if in.IsDone() {
		return Plan{}
	}
	d := compare.Difference{Kind: compare.Missing, Desired: redact.HideValue(map[string]any(in.Desired)), Writer: ownership.Writer{Evidence: ownership.Unknown}}
	if len(in.Compared.Differences) > 0 {
		d.Writer = in.Compared.Differences[0].Writer
	}
	d.Writer = attributeWriter(in, d, claim.Claim{})
	f := Finding{Difference: d, Verdict: Correct, Reason: "not in the cluster"}
	var again time.Time
	switch {
	case in.Policy.Mode.Holds() != "":
		f.Verdict, f.Reason = Hold, in.Policy.Mode.Holds()+"; an apply would create it"+conditionText(in.Prerequisite)
	case (!in.Changed || in.Deployed) && in.Policy.Remediation == policy.ReportOnly:
		f.Verdict, f.Reason = Hold, "remediation is off: the deletion is reported only"
	case !in.Changed:
		f, again = withPause(in, f)
	}
	p := Plan{Findings: []Finding{f}, RetryAt: again}
	if f.Verdict == Correct {
		p.Steps = []Step{{Verb: Create, Body: creationBody(in), Reason: f.Reason}}
	}
	return p
}

// conditionText is a condition, if there is one.
func conditionText(lacks string) string {
	if lacks == "" {
		return ""
	}
	return ", once " + lacks
}

// nextCorrection returns when the next correction of a field may be made; zero for now.
func nextCorrection(in Input, p field.Path) time.Time {
	last := in.Memory.LastCorrection(field.PathString(p))
	if last.IsZero() || !in.Now.Before(last.Add(in.Policy.Spacing)) {
		return time.Time{}
	}
	return last.Add(in.Policy.Spacing)
}

func spacingReason(spacing time.Duration, at time.Time) string {
	return fmt.Sprintf("corrected less than %s ago%s%s", spacing, nextDue, at.UTC().Format(time.RFC3339))
}

// creationBody is what a new object starts with: Git's, and for a claimed field that Git names or leaves to the claimant a value
// within the claimant's bounds: without any, a custom resource cannot be scaled at all. Right after its creation the field is handed
// over like any other.
func creationBody(in Input) object.Object {
	out := in.Desired.Clone()
	if in.Policy.Claims != policy.ClaimsCede {
		return out
	}
	for _, c := range in.Claims {
		git, named := field.ValueAt(in.Desired, c.Path)
		switch {
		case c.Placeholder(git):
			field.RemoveValue(out, c.Path)
		case c.Counts() && (named || c.Scale):
			field.SetValue(out, c.Path, seedValue(in, c))
		}
	}
	return out
}

func seedValue(in Input, c claim.Claim) int64 {
	git, _ := field.ValueAt(in.Desired, c.Path)
	return c.Seed(in.Memory.LastValue(field.PathString(c.Path)), git)
}
