package controller

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/pause"
	"github.com/truce-gitops/truce/internal/report"
)

// TestAnOperationIsTriedWhenItSaysSo: a run of another cause, before that time, takes none of the tries.
func TestAnOperationIsTriedWhenItSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for name, c := range map[string]struct {
			begun, ended, next time.Duration // from now
			want               time.Duration
		}{
			"it waits for its time":        {-2 * time.Second, -time.Second, time.Minute, time.Minute},
			"the run has lasted longer":    {-2 * time.Second, 0, -time.Second, time.Millisecond},
			"it was tried since":           {-2 * time.Second, -3 * time.Second, -time.Second, time.Hour},
			"a run before that has failed": {-2 * time.Second, -3 * time.Second, time.Second, time.Second},
		} {
			e := &appEntry{failed: 1}
			a := app.App{Interval: time.Hour, Retry: time.Second, Backoff: pause.Backoff{Limit: 1}}
			r := report.Report{At: now.Add(c.begun), Reason: report.ApplyFailed, Stage: report.Apply, Outlook: live.Lasting}
			r.Rollout = report.Rollout{Begun: now.Add(-time.Minute), Ended: now.Add(c.ended), Next: now.Add(c.next), Reason: report.ApplyFailed}
			if got := e.pause(a, r); got != c.want {
				t.Errorf("%s: the next run is in %s, want %s", name, got, c.want)
			}
		}
	})
}
