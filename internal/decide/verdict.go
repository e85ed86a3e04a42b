package decide

import (
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/field"
)

// judge gives one difference its verdict, and the time at which a held one is due.
// The order is the order of the rights: the user's rules, other controllers' claims, Git's new word, then policy.
func judge(in Input, d compare.Difference) (Finding, time.Time) {
	if f, ok := ignored(in, d); ok {
		return f, time.Time{}
	}
	if f, ok := claimed(in, d); ok {
		return f, time.Time{}
	}
	if why := standstill(in.Policy.Mode); why != "" {
		return Finding{Difference: d, Verdict: Hold, Reason: why}, time.Time{}
	}
	if changedInGit(in, d.Path) {
		return Finding{Difference: d, Verdict: Correct, Reason: "Git has a new value"}, time.Time{}
	}
	return drift(in, d)
}

// standstill says why a mode holds every difference; empty for the one that does not, and for its preview.
func standstill(m app.Mode) string {
	switch m {
	case app.Enforce, app.Preview:
		return ""
	case app.Suspend:
		return "the app is suspended"
	}
	return "observe mode writes nothing"
}

func drift(in Input, d compare.Difference) (Finding, time.Time) {
	path := field.String(d.Path)
	if in.Memory.IsStuck(path, in.Hasher.Value(d.Live)) {
		return Finding{Difference: d, Verdict: Hold, Reason: "an apply does not restore this: something in the API server's admission changes it"}, time.Time{}
	}
	if in.Policy.Remediation == app.ReportOnly {
		return Finding{Difference: d, Verdict: Hold, Reason: "remediation is off: drift is reported only"}, time.Time{}
	}
	if due := in.Memory.LastCorrection(path).Add(in.Policy.Spacing); in.Now.Before(due) && in.Policy.Spacing > 0 {
		return Finding{Difference: d, Verdict: Hold, Reason: fmt.Sprintf("corrected less than %s ago: the next correction is due at %s", in.Policy.Spacing, due.UTC().Format(time.RFC3339))}, due
	}
	return Finding{Difference: d, Verdict: Correct, Reason: "drift: changed by " + d.Writer.String()}, time.Time{}
}

func ignored(in Input, d compare.Difference) (Finding, bool) {
	for _, c := range in.Ignored {
		if field.HasPrefix(d.Path, c.Path) || field.HasPrefix(c.Path, d.Path) && len(d.Path) > 0 && partial(in, c.Path) {
			return Finding{Difference: d, Verdict: Cede, Reason: "ignored by " + c.Rule, Claimant: c.Rule}, field.HasPrefix(d.Path, c.Path)
		}
	}
	return Finding{}, false
}

// partial reports whether the path is a part of an atomic field. A difference there that is more than the ignored part
// is not ceded (compare has already dropped the one that is not).
func partial(in Input, p field.Path) bool {
	_, atomic := field.Atomic(in.Owners, p)
	return !atomic
}

func claimed(in Input, d compare.Difference) (Finding, bool) {
	c, ok := claimOn(in, d.Path)
	if !ok {
		return Finding{}, false
	}
	if in.Policy.Claims == app.ClaimsReport {
		f, _ := drift(in, d)
		f.Claimant = c.Name()
		f.Reason += "; " + c.Evidence
		return f, true
	}
	d.Writer = byClaim(d.Writer, c)
	f := Finding{Difference: d, Verdict: Cede, Reason: c.Evidence, Claimant: c.Name()}
	if n, ok := d.Live.(int64); ok && n == 0 && c.Min > 0 {
		f.Reason = "paused: " + d.Writer.String() + " set replicas to 0, and an autoscaler does not scale from 0"
	}
	return f, true
}

// byClaim names the claimant as the writer where the server recorded the scale subresource or nothing at all:
// the built-in controllers share one manager name.
func byClaim(w field.Writer, c claim.Claim) field.Writer {
	if w.Person || w.Evidence == field.Recorded && w.Name != "kube-controller-manager (scale)" {
		return w
	}
	evidence := field.Inferred
	if w.Evidence == field.Recorded {
		evidence = field.Recorded
	}
	return field.Writer{Name: c.Name(), Time: w.Time, Evidence: evidence}
}

func claimOn(in Input, p field.Path) (claim.Claim, bool) {
	if in.Policy.Claims == app.ClaimsOff {
		return claim.Claim{}, false
	}
	for _, c := range in.Claims {
		if len(p) > 0 && field.HasPrefix(p, c.Path) {
			return c, true
		}
	}
	return claim.Claim{}, false
}

// changedInGit reports whether Git itself gave the field another value since the baseline. Without the earlier object
// every field of a changed one counts: a new revision wins over drift that cannot be told from it.
func changedInGit(in Input, p field.Path) bool {
	if !in.Changed {
		return false
	}
	if in.Previous == nil {
		return true
	}
	before, had := field.Get(in.Previous, p)
	now, has := field.Get(in.Desired, p)
	return had != has || !field.Equal(before, now)
}
