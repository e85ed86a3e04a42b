package decide

import (
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// judgeDifference gives one difference its verdict, and the time at which a held one is due.
// The order is the order of the rights: the user's rules, other controllers' claims, Git's new word, then policy.
func judgeDifference(in Input, d compare.Difference) (Finding, time.Time) {
	c, claimed := claimOn(in, d.Path)
	d.Writer = attributeWriter(in, d, c) // whether it is ceded or not: people ask for the autoscaler, not for the process that speaks for it
	if f, ok := ignored(in, d); ok {
		return f, time.Time{}
	}
	if a, ok := addedAt(in, d); ok {
		return judgeAdded(in, d, a)
	}
	if claimed && in.Policy.Claims == policy.ClaimsCede && !endsPause(in, c, d) && !lacksCount(c, d) {
		if c.Paused(d.Live.Reveal()) {
			return pausedCount(in, d, c), time.Time{}
		}
		return cededFinding(d, c), time.Time{}
	}
	if d.Kind == compare.Mutated && !sendsNewItem(in, d.Path) {
		return mutated(in, d), time.Time{}
	}
	f, again := enforce(in, d)
	if claimed {
		f.Claimant = c.Name()
		f.Reason += "; " + c.Evidence
	}
	return f, again
}

// enforce judges a field to which only Git has a right that counts.
func enforce(in Input, d compare.Difference) (Finding, time.Time) {
	if why := reasonToWait(in); why != "" {
		return Finding{Difference: d, Verdict: Hold, Reason: why, PausedBy: pauseWriter(in)}, time.Time{}
	}
	if changedInGit(in, d.Path) {
		paused, _ := judgeFight(in, d)
		return Finding{Difference: d, Verdict: Correct, Reason: newValue(in), NewInGit: true, Overrides: paused.Verdict}, time.Time{}
	}
	return judgeDrift(in, d)
}

// newValue is the reason of a correction that is none of drift.
func newValue(in Input) string {
	if in.Adoption.Takes() && !hasOwnLabel(in) {
		return "the first apply sets Git's value"
	}
	return "Git has a new value"
}

// reasonToWait says why nothing of the object is written at present; empty where it may be.
func reasonToWait(in Input) string {
	if in.Treatment.Paused != "" {
		return pausedBy(in)
	}
	return in.Policy.Mode.Holds()
}

func judgeDrift(in Input, d compare.Difference) (Finding, time.Time) {
	if in.Policy.Remediation == policy.ReportOnly && !isStuck(in, d) {
		return Finding{Difference: d, Verdict: Hold, Reason: "remediation is off: drift is reported only"}, time.Time{}
	}
	f := Finding{Difference: d, Verdict: Correct, Reason: "drift: changed by " + d.Writer.String(), CededTo: in.Past.Known[field.PathString(d.Path)].CededTo}
	if f.CededTo != "" { // who has set the value need not be known: it may be what truce found when it handed the field over
		f.Reason += "; no longer ceded to " + f.CededTo
	}
	return withPause(in, f)
}

// withPause returns the correction, or the finding that holds it for now and the time at which it is due. A request overrides every pause.
func withPause(in Input, correct Finding) (Finding, time.Time) {
	paused, at := pauseOf(in, correct.Difference)
	switch {
	case paused.Verdict == "":
		return correct, time.Time{}
	case in.Request == TryOnce && in.Policy.Remediation != policy.ReportOnly:
		correct.Overrides = paused.Verdict
		correct.Reason += "; corrected on request, before the pause ends"
		return correct, time.Time{}
	}
	return paused, at
}

// pauseOf returns what holds a correction that the policy asks for, without a verdict where nothing does.
func pauseOf(in Input, d compare.Difference) (Finding, time.Time) {
	if isStuck(in, d) {
		return Finding{Difference: d, Verdict: Hold, Reason: NotRestored}, time.Time{}
	}
	if why := heldByFailure(in, d); why != "" {
		return Finding{Difference: d, Verdict: Hold, Reason: why}, time.Time{}
	}
	if at := nextCorrection(in, d.Path); !at.IsZero() {
		return Finding{Difference: d, Verdict: Hold, Reason: spacingReason(in.Policy.Spacing, at)}, at
	}
	return judgeFight(in, d)
}

// NotRestored is the reason of a finding that is held because an apply has left the same live value in place.
const NotRestored = "an apply does not restore this: something in the API server's admission changes it"

func isStuck(in Input, d compare.Difference) bool {
	return in.Memory.IsStuck(field.PathString(d.Path), d.LiveHash(in.Hasher))
}

// isHeldStuck reports whether a finding is held because an apply does not restore it. Git's value is sent all the same when there is
// something else to apply: it does no harm, it keeps the field ours, and admission may need to see it.
func isHeldStuck(in Input, f Finding) bool {
	return f.Verdict == Hold && reasonToWait(in) == "" && isStuck(in, f.Difference)
}

func ignored(in Input, d compare.Difference) (Finding, bool) {
	for _, c := range in.Ignored {
		if field.HasPrefix(d.Path, c.Path) {
			f := Finding{Difference: d, Verdict: Cede, Reason: "ignored by " + c.Rule, Claimant: c.Rule}
			if git, _, both := bothCounts(d); both {
				f.NotApplied = fmt.Sprintf("%d from Git not applied", git)
			}
			return f, true
		}
	}
	return Finding{}, false
}

func cededFinding(d compare.Difference, c claim.Claim) Finding {
	f := Finding{Difference: d, Verdict: Cede, Reason: c.Evidence, Claimant: c.Name()}
	for _, n := range c.Notes {
		f.Reason += "; " + n
	}
	if c.Scale && d.Kind == compare.Missing {
		f.Reason += "; there is no count yet that could be scaled: name one in Git"
	}
	f.NotApplied, f.Remedy = notApplied(d, c), changeCount(d, c)
	return f
}

// endsPause reports whether a pause is to be ended by us.
func endsPause(in Input, c claim.Claim, d compare.Difference) bool {
	return in.Policy.Pause == policy.PauseCorrect && c.Paused(d.Live.Reveal())
}

// lacksCount reports whether the count that Git names is gone from a custom resource whose API gives it no default: GET of its scale
// subresource is then an error (HTTP 500, measured), and it cannot be scaled until it has a count again.
func lacksCount(c claim.Claim, d compare.Difference) bool {
	return c.Scale && d.Kind == compare.Missing && !d.Desired.IsNil()
}

// pauseDifferences are the differences that only a claim makes, where Git does not name the count: a workload at 0, one without a count.
func pauseDifferences(in Input) []compare.Difference {
	if in.Policy.Claims != policy.ClaimsCede {
		return nil
	}
	for _, c := range in.Claims {
		_, named := field.ValueAt(in.Desired, c.Path)
		live, there := field.ValueAt(in.Live, c.Path)
		switch {
		case named:
		case c.Paused(live):
			return []compare.Difference{{Path: c.Path, Kind: compare.Changed, Live: redact.HideValue(live), Writer: in.Past.History(in.Owners, in.Hasher, c.Path, redact.HideValue(live)).WriterOf(c.Path)}}
		case c.Scale && !there:
			return []compare.Difference{{Path: c.Path, Kind: compare.Missing, Writer: ownership.Writer{Evidence: ownership.Unknown}}}
		}
	}
	return nil
}

func claimOn(in Input, p field.Path) (claim.Claim, bool) {
	if in.Policy.Claims == policy.ClaimsOff {
		return claim.Claim{}, false
	}
	for _, c := range in.Claims {
		if field.HasPrefix(p, c.Path) {
			return c, true
		}
	}
	return claim.Claim{}, false
}

// changedInGit reports whether Git itself gave the field another value since the baseline. Without the earlier object
// every field of a changed one counts: a new revision wins over drift that cannot be distinguished from it.
func changedInGit(in Input, p field.Path) bool {
	if !in.Changed {
		return false
	}
	if in.Previous == nil {
		return true
	}
	before, had := field.ValueAt(in.Previous, p)
	now, has := field.ValueAt(in.Desired, p)
	return had != has || !field.EqualValues(before, now)
}
