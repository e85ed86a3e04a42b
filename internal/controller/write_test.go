package controller

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
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
