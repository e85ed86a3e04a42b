// Package breaker answers: does the truce that runs wait with a correction that this process, which remembers nothing, would make?
//
// In: a finding; what the truce that runs has noted in its journal, or has written into the app's status; the time.
// Out: the finding, with the verdict and the words of the truce that runs where that waits.
// Promise: pure; only what would be put back gets another verdict; a wait that is over by now, or was about another value of Git's, is none.
// Not here: when a breaker opens (fight), asking for a journal or a status, and whether the truce still runs that wrote it (view).
package breaker

import (
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// ApplyJournal is a finding as the truce that runs judges it, by the newest entry of its journal about the field. The entries are about the
// finding's object, oldest first.
func ApplyJournal(f report.Finding, entries []journal.Entry, now time.Time) report.Finding {
	if f.Verdict != decide.Correct {
		return f
	}
	var newest journal.Entry
	for _, e := range entries {
		if e.Path == field.PathString(f.Path) {
			newest = e
		}
	}
	masked := redact.IsSecret(newest.Object) || redact.IsMasked(newest.Git) // another process's masks
	if !masked && !field.EqualValues(newest.Git, f.Desired) {
		return f
	}
	until, _ := decide.CorrectionDue(newest.Reason)
	waits := until.After(now)
	switch {
	case newest.What == journal.Contested && waits:
		f.Verdict, f.Reason = decide.Contested, newest.Reason
	case newest.What == journal.Held && (waits || newest.Reason == decide.NotRestored && field.EqualValues(newest.Live, f.Live)):
		f.Verdict, f.Reason = decide.Hold, newest.Reason
	}
	return f
}

// ApplyEvidence is the same by the evidence of contested fields in the app's status (report.Evidence). It names some of them only.
func ApplyEvidence(f report.Finding, id object.ID, evidence string, now time.Time) report.Finding {
	if f.Verdict != decide.Correct {
		return f
	}
	reason := f.EvidenceReason(evidence, id)
	if until, _ := decide.CorrectionDue(reason); until.After(now) {
		f.Verdict, f.Reason = decide.Contested, reason
	}
	return f
}
