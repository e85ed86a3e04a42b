package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
)

// TestPausesDoubleWhereAnotherTryMaySucceed is about the pauses after runs, in the order in which they end.
func TestPausesDoubleWhereAnotherTryMaySucceed(t *testing.T) {
	ended := func(o live.Outlook, message string) report.Report {
		return report.Report{Stage: report.Apply, Reason: report.ApplyFailed, Outlook: o, Message: message}
	}
	done := report.Report{Stage: report.Done, Reason: report.Succeeded}
	const hour = time.Hour
	for _, c := range []struct {
		name string
		runs []report.Report
		want []time.Duration
	}{
		{"no answer", []report.Report{ended(live.Passing, "a"), ended(live.Passing, "a"), ended(live.Passing, "a"), ended(live.Passing, "a")}, []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second}},
		{"a refusal", []report.Report{ended(live.Doubtful, "a"), ended(live.Doubtful, "a"), ended(live.Doubtful, "b"), ended(live.Doubtful, "b")}, []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second}},
		{"up to the interval", slices.Repeat([]report.Report{ended(live.Doubtful, "a")}, 12), []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second, 320 * time.Second, 640 * time.Second, 1280 * time.Second, 2560 * time.Second, hour, hour}},
		{"a success between", []report.Report{ended(live.Doubtful, "a"), ended(live.Doubtful, "a"), done, ended(live.Doubtful, "a")}, []time.Duration{5 * time.Second, 10 * time.Second, hour, 5 * time.Second}},
		{"what Git is at fault for", []report.Report{ended(live.Lasting, "a"), ended(live.Doubtful, "a")}, []time.Duration{hour, 10 * time.Second}},
	} {
		e := &appEntry{}
		for i, r := range c.runs {
			if got := e.pause(app.App{Interval: hour}, r); got != c.want[i] {
				t.Errorf("%s: after run %d a pause of %s, want %s", c.name, i+1, got, c.want[i])
			}
		}
	}
}
