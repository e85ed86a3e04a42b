package controller

import (
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// obstacle is why an app cannot be handed to its engine, which reports all else. It is tried again.
type obstacle struct {
	work  string // that has failed
	why   string // redacted; empty for no obstacle
	since time.Time
}

// noteObstacle has an app report that some work before its run has failed, or, without an error, that this work no longer keeps it from running.
func (c *Controller) noteObstacle(key app.Key, work string, err error) {
	next := obstacle{work: work, since: time.Now()}
	if err != nil {
		next.why = redact.MaskText(err.Error())
		c.Log.Warn(work, "app", key.String(), "error", err.Error())
	}
	c.mu.Lock()
	e := c.appSet[key]
	if e == nil || e.obstacle.why == next.why || err == nil && e.obstacle.work != work {
		c.mu.Unlock()
		return
	}
	e.obstacle = next
	c.mu.Unlock()
	c.AppChanged(key)
}

// reportedBy returns what is to be reported instead of the report of the engine, whose newest run is an earlier one.
func (o obstacle) reportedBy(r report.Report, generation int64) report.Report {
	if o.why == "" {
		return r
	}
	r.Generation, r.Running, r.At = generation, false, o.since
	r.Stage, r.Reason, r.Message, r.Outlook = report.Admit, report.ClusterFailed, o.why, live.Passing
	return r
}
