package report_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/report"
)

func TestAReportedAdditionLeavesTheAppSynced(t *testing.T) {
	reported := report.Finding{Verdict: decide.Hold, Reported: true}
	held := report.Finding{Verdict: decide.Hold}
	for name, c := range map[string]struct {
		findings []report.Finding
		want     report.Sync
		held     int
	}{
		"reported": {[]report.Finding{reported}, report.Synced, 0}, "held": {[]report.Finding{held}, report.OutOfSync, 1},
		"both": {[]report.Finding{reported, held}, report.OutOfSync, 1}, "ceded": {[]report.Finding{{Verdict: decide.Cede}}, report.Synced, 0},
	} {
		r := report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{{Applied: true, Findings: c.findings}}}
		if got := r.Objects[0].Sync(); got != c.want || r.Count(decide.Hold) != c.held {
			t.Errorf("%s: %s with %d held, want %s with %d", name, got, r.Count(decide.Hold), c.want, c.held)
		}
	}
}
