package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// judgeFight returns a difference as contested that truce has put back again and again, and says when it tries again; the zero time for one
// that may be put back now. The edit of a person is only limited in rate. Without claims the breaker is disarmed: plain GitOps fights.
func judgeFight(in Input, d compare.Difference) (Finding, time.Time) {
	if in.Policy.Claims == policy.ClaimsOff {
		return Finding{}, time.Time{}
	}
	o := fight.OpponentOf(d.Writer, d.Path)
	b := in.Memory.Bout(field.PathString(d.Path), o, in.Now)
	if !b.Open() {
		return Finding{}, time.Time{}
	}
	if o.Kind == fight.Person {
		return Finding{Difference: d, Verdict: Hold, Reason: spacingReason(fight.MinSpacing, b.Next)}, b.Next
	}
	done, undone := "put back", "changed again by "+d.Writer.String()
	if o.Kind == fight.Deleter {
		done, undone = "made", "deleted again"
	}
	return Finding{Difference: d, Verdict: Contested, Reason: reversalText(done, b) + undone + requestResult(b) + nextTryText(b)}, b.Next
}

// requestResult says what came of the newest correction, where a person asked for it while the breaker was open.
func requestResult(b fight.Bout) string {
	if b.Requested.IsZero() {
		return ""
	}
	return requestedAt + b.Requested.UTC().Format(time.RFC3339) + " and changed back"
}

// requestedAt comes before the time of a correction on request in the reason of a field that is contested again.
const requestedAt = "; corrected on request at "

func reversalText(done string, b fight.Bout) string {
	times := "once"
	if b.Corrections > 1 {
		times = fmt.Sprintf("%d times", b.Corrections)
	}
	return fmt.Sprintf("%s %s since %s and ", done, times, b.Since.UTC().Format(time.RFC3339))
}

func nextTryText(b fight.Bout) string { return nextTry + b.Next.UTC().Format(time.RFC3339) }

// What comes before the time in the reason of a finding that waits.
const (
	nextTry = "; the next try is at "
	nextDue = ": the next correction is due at "
)

// CorrectionDue reads from the reason of a finding until when its correction waits, and where in the reason that time ends; the zero time for one
// that says nothing of it. Who remembers nothing itself reads it in what another process has said.
func CorrectionDue(reason string) (until time.Time, end int) {
	for _, mark := range []string{nextTry, nextDue} {
		at := strings.Index(reason, mark)
		if at < 0 {
			continue
		}
		end := min(at+len(mark)+len("2006-01-02T15:04:05Z"), len(reason))
		if until, err := time.Parse(time.RFC3339, reason[at+len(mark):end]); err == nil {
			return until, end
		}
	}
	return time.Time{}, 0
}
