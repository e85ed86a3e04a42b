package controller

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// healthMatter is the matter of an app that is degraded. A cause that becomes known later is worth another message, other causes are not: pods in
// trouble go from one to the next.
func healthMatter(h health.Status) notify.Matter {
	m := notify.Matter{Kind: matter.Unhealthy, Phase: notify.Opens}
	if h.Cause != "" {
		m.Form = "the cause is known"
	}
	return m
}

// healthCheckFailed is the reason of a status that says of a degraded app what emitHealth would.
const healthCheckFailed = "HealthCheckFailed"

// emitHealth reports that an app is degraded: once, and once more when its pods have said why, unless the status that was just written is news of that.
// settleMatters reports the end.
func (c *Controller) emitHealth(e appEntry, next object.Object, r report.Report) {
	if r.Stage != report.Done {
		return
	}
	h := report.WorstHealth(r.Objects)
	m := healthMatter(h)
	if !c.isNewTrouble(e, m, h) {
		return
	}
	c.noteHealth(e.app.Key, r.Revision, h)
	if h.Code != health.Degraded || outcomeOf(next).reason == healthCheckFailed {
		return
	}
	c.emitMessage(e.app.Key, notify.Message{
		Event: notify.Event{Severity: notify.Error, Reason: "HealthDegraded", Text: "degraded: " + h.Message}, Evidence: evidenceOfHealth(r.Objects, h), Matter: m,
	})
}

// evidenceOfHealth is the first object that is degraded for the cause that the app has, and the cause.
func evidenceOfHealth(objects []report.Object, h health.Status) map[string]string {
	evidence := map[string]string{}
	for _, o := range objects {
		if s := o.HealthStatus(); s.ForApp() == health.Degraded && s.Cause == h.Cause {
			evidence[notify.FactObject] = o.ID.String()
			break
		}
	}
	if h.Cause != "" {
		evidence[notify.FactBecause] = h.Cause
	}
	return evidence
}

// isNewTrouble notes the health of an app, and reports whether it is degraded since the last look, or its cause is known since then.
func (c *Controller) isNewTrouble(e appEntry, m notify.Matter, h health.Status) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.appSet[e.app.Key]
	if known == nil {
		return false
	}
	was := known.trouble
	switch {
	case h.Code == health.Degraded && (was == "" || m.Form != ""):
		known.trouble = "degraded " + m.Form
	case h.Code == health.Healthy:
		known.trouble = ""
	}
	return known.trouble != was
}

// noteHealth writes down that an app is degraded, or healthy again.
func (c *Controller) noteHealth(key app.Key, revision string, h health.Status) {
	j := c.engineOf(key).Journal
	if j == nil {
		return
	}
	entry := journal.Entry{At: time.Now().UTC(), App: key, What: journal.Recovered, Revision: revision, Reason: "healthy again"}
	if h.Code == health.Degraded {
		entry.What, entry.Reason = journal.Degraded, h.Message
		if h.Cause != "" {
			entry.Because = []string{h.Cause}
		}
	}
	j.Append(entry)
}
