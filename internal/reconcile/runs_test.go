package reconcile

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
)

// TestWhereRunsBeginAgain: at a new generation, also where the first run about it builds nothing, and the next one what was built before; and after a run that
// could not apply what it had built, but not after one that came to build nothing.
func TestWhereRunsBeginAgain(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	now := at
	e := NewEngine(Dependencies{Now: func() time.Time { return now }}, nil)
	s := e.state(app.Key{Kind: "Kustomization", Namespace: "shop", Name: "app"})
	for i, c := range []struct {
		generation int64
		built      string
		stage      report.Stage
		want       time.Duration
	}{
		{1, "a", report.Done, 0},
		{1, "a", report.Done, 0},
		{1, "", report.Render, 0},
		{2, "", report.Render, -1},
		{2, "a", report.Done, 4 * time.Minute},
		{2, "a", report.Done, 4 * time.Minute},
		{3, "a", report.Done, 6 * time.Minute},
		{3, "b", report.Validate, -1},
		{3, "b", report.Apply, -1},
		{3, "b", report.Done, 9 * time.Minute},
		{3, "", report.Fetch, 9 * time.Minute},
		{3, "b", report.Done, 9 * time.Minute},
		{3, "b", report.Apply, -1},
		{3, "b", report.Done, 13 * time.Minute},
	} {
		now = at.Add(time.Duration(i) * time.Minute)
		r := &appRun{engine: e, state: s, built: c.built, report: report.Report{Generation: c.generation, Stage: c.stage, At: now}}
		r.report.Runs = r.countRun()
		s.report = r.report
		want := at.Add(c.want)
		if c.want < 0 {
			want = time.Time{}
		}
		if got := r.report.Runs.Began; !got.Equal(want) {
			t.Errorf("after run %d they began at %s, want %s", i, got, want)
		}
	}
}
