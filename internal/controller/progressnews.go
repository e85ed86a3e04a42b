package controller

import (
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
)

// progressDialect is a dialect whose users expect the status of a commit to be pending while it is brought out.
type progressDialect interface {
	// Progress returns what a status says of a revision that is being brought out; false for none.
	Progress(status object.Object) (text string, underWay bool)
}

// emitProgress reports to the Providers of commit statuses, once for each revision, that it is being brought out. Most are applied before their status is
// written for the first time, and have none.
func (c *Controller) emitProgress(e appEntry, next object.Object, r report.Report) {
	front, ok := e.front.(progressDialect)
	if !ok || c.Outlet == nil {
		return
	}
	text, underWay := front.Progress(next)
	if !underWay || !c.isNewProgress(e, r.Revision) {
		return
	}
	m := messageAbout(e.cr)
	m.Event = notify.Event{Severity: notify.Info, Reason: "Progressing", Text: text, Revision: r.Revision}
	m.Origin, m.Matter = r.Origin, notify.Matter{Kind: matter.Progress}
	c.Outlet.Accept(m)
}

// isNewProgress notes a revision that is being brought out, and reports whether it was not noted before.
func (c *Controller) isNewProgress(e appEntry, revision string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.appSet[e.app.Key]
	if known == nil || revision == "" || known.progress == revision {
		return false
	}
	known.progress = revision
	return true
}
