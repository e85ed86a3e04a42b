package report_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/report"
)

func TestAReportedAdditionLeavesTheAppSynced(t *testing.T) {
	reported := decide.Finding{Verdict: decide.Hold, Reported: true}
	held := decide.Finding{Verdict: decide.Hold}
	for name, c := range map[string]struct {
		findings []decide.Finding
		want     report.Sync
		held     int
	}{
		"reported": {[]decide.Finding{reported}, report.Synced, 0}, "held": {[]decide.Finding{held}, report.OutOfSync, 1},
		"both": {[]decide.Finding{reported, held}, report.OutOfSync, 1}, "ceded": {[]decide.Finding{{Verdict: decide.Cede}}, report.Synced, 0},
	} {
		r := report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{{Applied: true, Findings: c.findings}}}
		if got := r.Objects[0].Sync(); got != c.want || r.Count(decide.Hold) != c.held {
			t.Errorf("%s: %s with %d held, want %s with %d", name, got, r.Count(decide.Hold), c.want, c.held)
		}
	}
}
