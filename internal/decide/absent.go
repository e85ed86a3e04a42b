package decide

import (
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// absent judges an object that is not in the cluster.
func absent(in Input) Plan {
	d := compare.Difference{Kind: compare.Missing, Desired: map[string]any(in.Desired), Writer: ownership.Writer{Evidence: ownership.Unknown}}
	if len(in.Compared.Differences) > 0 {
		d.Writer = in.Compared.Differences[0].Writer
	}
	d.Writer = who(in, d, claim.Claim{})
	f := Finding{Difference: d, Verdict: Correct, Reason: "not in the cluster"}
	var again time.Time
	switch {
	case standstill(in.Policy.Mode) != "":
		f.Verdict, f.Reason = Hold, standstill(in.Policy.Mode)+"; an apply would create it"+once(in.Lacks)
	case !in.Changed && in.Policy.Remediation == app.ReportOnly:
		f.Verdict, f.Reason = Hold, "remediation is off: the deletion is reported only"
	case !in.Changed:
		f, again = pause(in, f)
	}
	p := Plan{Findings: []Finding{f}, Again: again}
	if f.Verdict == Correct {
		p.Steps = []Step{{Verb: Create, Body: seeded(in), Reason: f.Reason}}
	}
	return p
}

// once is a condition, if there is one.
func once(lacks string) string {
	if lacks == "" {
		return ""
	}
	return ", once " + lacks
}

// due returns when the next correction of a field may be made; zero for now.
func due(in Input, p field.Path) time.Time {
	last := in.Memory.LastCorrection(field.String(p))
	if last.IsZero() || !in.Now.Before(last.Add(in.Policy.Spacing)) {
		return time.Time{}
	}
	return last.Add(in.Policy.Spacing)
}

func spaced(spacing time.Duration, at time.Time) string {
	return fmt.Sprintf("corrected less than %s ago%s%s", spacing, nextDue, at.UTC().Format(time.RFC3339))
}

// seeded is what a new object starts with: Git's, and for a claimed field that Git names or leaves to the claimant a value
// within the claimant's bounds: without any, a custom resource cannot be scaled at all. Right after its creation the field is handed
// over like any other.
func seeded(in Input) object.Object {
	out := in.Desired.Clone()
	if in.Policy.Claims != app.ClaimsCede {
		return out
	}
	for _, c := range in.Claims {
		git, named := field.Get(in.Desired, c.Path)
		switch {
		case c.Placeholder(git):
			field.Drop(out, c.Path)
		case c.Counts() && (named || c.Scale):
			field.Put(out, c.Path, seed(in, c))
		}
	}
	return out
}

func seed(in Input, c claim.Claim) int64 {
	git, _ := field.Get(in.Desired, c.Path)
	return c.Seed(in.Memory.Value(field.String(c.Path)), git)
}
