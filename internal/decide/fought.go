package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/fight"
)

// Opponent is who changed the field, as fights count them.
func (f Finding) Opponent() fight.Opponent { return opponent(f.Difference) }

func opponent(d compare.Difference) fight.Opponent {
	return fight.Opponent{Name: d.Writer.Name, Person: d.Writer.Person}
}

// fought holds a difference that truce has put back again and again, and says when it tries anew; the zero time for one that may be put
// back now. Without claims the breaker is disarmed: plain GitOps fights.
func fought(in Input, d compare.Difference) (Finding, time.Time) {
	if in.Policy.Claims == app.ClaimsOff {
		return Finding{}, time.Time{}
	}
	o := opponent(d)
	b := in.Memory.Bout(field.String(d.Path), o, in.Now)
	if !b.Open() {
		return Finding{}, time.Time{}
	}
	f := Finding{Difference: d, Verdict: Contested, Reason: again("put back", b) + "changed again by " + d.Writer.String() + next(b)}
	if o.Person { // an edit that is repeated is answered later and later, never with silence
		f.Verdict = Hold
	}
	return f, b.Next
}

// remade holds an object that truce has made again and again. Nobody records who deletes, and an app without the object is worse off than
// with a wrong field: it comes back after pauses as short as a person gets.
func remade(in Input, f Finding) (Finding, time.Time) {
	if in.Policy.Claims == app.ClaimsOff {
		return f, time.Time{}
	}
	b := in.Memory.Bout(field.String(nil), fight.Opponent{Person: true}, in.Now)
	if !b.Open() {
		return f, time.Time{}
	}
	f.Verdict = Contested
	f.Reason = again("made", b) + "deleted again" + next(b)
	return f, b.Next
}

func again(done string, b fight.Bout) string {
	times := "once"
	if b.Corrections > 1 {
		times = fmt.Sprintf("%d times", b.Corrections)
	}
	return fmt.Sprintf("%s %s since %s and ", done, times, b.Since.UTC().Format(time.RFC3339))
}

func next(b fight.Bout) string { return nextTry + b.Next.UTC().Format(time.RFC3339) }

// What comes before the time in the reason of a finding that waits.
const (
	nextTry = "; the next try is at "
	nextDue = ": the next correction is due at "
)

// Waits reads from the reason of a finding until when its correction waits, and where in the reason that time ends; the zero time for one
// that says nothing of it. Who remembers nothing itself reads it in what another process has said.
func Waits(reason string) (until time.Time, end int) {
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
