package controller

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/runs"
)

// TestWhatWasReadyStaysSoUntilTheFirstRunAfterAStartHasEnded: a run that takes longer than a status waits for it is no news of the app.
func TestWhatWasReadyStaysSoUntilTheFirstRunAfterAStartHasEnded(t *testing.T) {
	cr := object.Object{
		"metadata": map[string]any{"namespace": "shop", "name": "web", "generation": int64(3)},
		"status": map[string]any{
			"observedGeneration": int64(3), "lastAttemptedRevision": "main@sha1:aaa",
			"conditions": []any{map[string]any{
				"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "", "lastTransitionTime": "2026-11-20T10:00:00Z",
			}},
		},
	}
	for what, x := range map[string]struct {
		generation int64
		r          report.Report
		want       string
	}{
		"at a start":               {3, report.Report{}, "True"},
		"when the spec is another": {4, report.Report{}, "Unknown"},
		"when a run has failed":    {3, report.Report{Stage: report.Render, Reason: report.RenderFailed, Generation: 3}, "False"},
	} {
		status := object.Object(flux.Kustomizations{}.Status(cr, ofFirstRun(app.App{Generation: x.generation}, x.r)))
		got := ""
		conditions, _ := status.At("conditions").([]any)
		for _, e := range conditions {
			if c, _ := e.(map[string]any); c["type"] == "Ready" {
				got, _ = c["status"].(string)
			}
		}
		if got != x.want {
			t.Errorf("%s: Ready is %q, want %q", what, got, x.want)
		}
	}
}

// TestAProgressOfWhatIsKnownWaitsLonger: each status that says "in progress" is taken back by another one. A restart needs neither.
func TestAProgressOfWhatIsKnownWaitsLonger(t *testing.T) {
	begun := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	known := object.Object{"status": map[string]any{"observedGeneration": int64(3)}}
	for what, x := range map[string]struct {
		cr   object.Object
		r    report.Report
		want time.Duration
	}{
		"the first run after a start":                 {known, report.Report{Generation: 3}, repeatPause},
		"the first run after a start, and an edit":    {known, report.Report{Generation: 4}, progressPause},
		"the first run of all":                        {object.Object{}, report.Report{Generation: 3}, progressPause},
		"a later run":                                 {known, report.Report{Generation: 3, Stage: report.Done}, progressPause},
		"the first run of an app, generation unknown": {object.Object{"status": map[string]any{}}, report.Report{}, progressPause},
	} {
		x.r.Seen = begun
		if got := waitForProgress(appEntry{cr: x.cr, begun: begun}, x.r); got != x.want {
			t.Errorf("%s: waits %s, want %s", what, got, x.want)
		}
	}
}

// TestTheStatusIsWrittenAgainWhenTheTimeoutIsOver: which counts from the first run that built the same, or from when an object stopped being healthy.
func TestTheStatusIsWrittenAgainWhenTheTimeoutIsOver(t *testing.T) {
	seen := time.Date(2026, 11, 21, 10, 10, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return seen.Add(-d) }
	a := app.App{Wait: app.WaitHealthy, Timeout: 5 * time.Minute}
	for what, c := range map[string]struct {
		began, unready, run time.Duration
		want                time.Duration
	}{
		"a first run":                            {began: 10 * time.Second, unready: 9 * time.Second, run: 10 * time.Second, want: 5*time.Minute - 9*time.Second},
		"a later run":                            {began: 4 * time.Minute, unready: 4 * time.Minute, run: 10 * time.Second, want: time.Minute},
		"a later run, when it is over":           {began: 6 * time.Minute, unready: 6 * time.Minute, run: 10 * time.Second},
		"an object that is not healthy any more": {began: time.Hour, unready: 2 * time.Minute, run: 10 * time.Second, want: 3 * time.Minute},
	} {
		r := report.Report{Stage: report.Done, At: ago(c.run), Seen: seen, UnreadySince: ago(c.unready), Runs: runs.Runs{Began: ago(c.began)}}
		want := c.want
		if want > 0 {
			want += time.Millisecond
		}
		if got := untilHealthTimeout(a, r); got != want {
			t.Errorf("%s: in %s, want %s", what, got, want)
		}
	}
}
