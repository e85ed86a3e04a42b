package controller

import (
	"time"

	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/runs"
)

// A commit to a repository that many apps read changes few of them. The statuses of the others, which name the new revision and say nothing
// else, are written at this rate, in statuses a second; the first of them at once.
const (
	backgroundRate  = 100
	backgroundBurst = 50
)

// writtenRevision is what a new revision that changes nothing else changes in a report. The digest of its runs is another one where a Secret is among the
// objects, which counts by the revision.
type writtenRevision struct {
	revision, applied string
	rollout           report.Rollout
	runs              runs.Runs
}

func writtenRevisionOf(r report.Report) *writtenRevision {
	return &writtenRevision{r.Revision, r.Applied, r.Rollout, r.Runs}
}

// background is how long a status waits for its turn because it says nothing but that the revision has moved. A status that answers a
// request, that says anything else that is new, or that another app waits for, does not wait.
func (c *Controller) background(e appEntry, r report.Report) time.Duration {
	only := e.hasOnlyMoved(r) && len(e.front.AnsweredRequests(e.cr, r)) == 0
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.appSet[e.app.Key]
	if now == nil || !only || c.dependents.isAwaited(resourceOf(now)) {
		return 0
	}
	if now.slot.IsZero() {
		now.slot = r.Seen.Add(c.backgroundPace.ReserveN(r.Seen, 1).DelayFrom(r.Seen))
	}
	return now.slot.Sub(r.Seen)
}

// hasOnlyMoved reports whether the status that was written last would be the right one, had the revision not moved.
func (e *appEntry) hasOnlyMoved(r report.Report) bool {
	if !r.Unchanged || e.said == nil || e.said.revision == r.Revision {
		return false
	}
	r.Revision, r.Applied, r.Runs = e.said.revision, e.said.applied, e.said.runs
	if r.Rollout.Order.Token == e.said.rollout.Order.Token {
		r.Rollout = e.said.rollout
	}
	return e.wrote == digestOf(e.status(r))
}
