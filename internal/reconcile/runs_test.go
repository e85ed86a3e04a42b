package reconcile

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report"
)

// TestANewGenerationBeginsTheRunsAgain: also where the first run about it builds nothing, and the next one what was built before.
func TestANewGenerationBeginsTheRunsAgain(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	now := at
	e := NewEngine(Dependencies{Now: func() time.Time { return now }}, nil)
	s := e.state(app.Key{Kind: "Kustomization", Namespace: "shop", Name: "app"})
	for i, c := range []struct {
		generation int64
		built      string
		want       time.Duration
	}{
		{1, "a", 0},
		{1, "a", 0},
		{1, "", 0},
		{2, "", -1},
		{2, "a", 4 * time.Minute},
		{2, "a", 4 * time.Minute},
		{3, "a", 6 * time.Minute},
	} {
		now = at.Add(time.Duration(i) * time.Minute)
		r := &appRun{engine: e, state: s, built: c.built, report: report.Report{Generation: c.generation, At: now}}
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
