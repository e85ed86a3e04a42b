package controller

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

var _ reconcile.Observer = (*Controller)(nil)

// Enqueue implements reconcile.Queue. A worker calls reconcileObject with it.
func (t *target) Enqueue(id object.ID) { t.objects.Add(id) }

// EnqueueAt implements reconcile.Queue.
func (t *target) EnqueueAt(id object.ID, at time.Time) { t.objects.AddAfter(id, t.c.until(at)) }

// EnqueuePods implements reconcile.Queue.
func (t *target) EnqueuePods(id object.ID, at time.Time) { t.pods.AddAfter(id, t.c.until(at)) }

// OnFinding implements reconcile.Observer.
func (c *Controller) OnFinding(n report.FindingEvent) {
	c.Observer.OnFinding(n)
	if n.Carried {
		f := n.Finding
		c.Log.Info("put back", "app", n.App.String(), "object", n.ID.String(), "field", field.PathString(f.Path), "by", f.Writer.String(), "evidence", string(f.Writer.Evidence))
	}
	if !c.observes(n.App) {
		c.emitFinding(n)
	}
}

// OnRecreate implements reconcile.Observer.
func (c *Controller) OnRecreate(key app.Key, id object.ID, asks string, refused error) {
	c.Log.Info("deleted to recreate", "app", key.String(), "object", id.String(), "asks", asks, "refused", refused.Error())
	c.emit(key, notify.Event{Severity: notify.Info, Reason: "Recreated", Text: id.String() + " deleted, to be created as Git has it (" + asks + "): " + refused.Error()})
}

// statusDelay gathers what happens in quick succession into one status write.
const statusDelay = 40 * time.Millisecond

// AppChanged says that an app's report has changed: its status is written soon.
func (c *Controller) AppChanged(key app.Key) {
	c.statuses.AddAfter(key, statusDelay)
	if c.Outlet != nil || c.Notify != nil {
		c.settles.AddAfter(key, settlePause)
	}
	c.Observer.OnReport(key)
}

// EnqueueApp has the app run at once.
func (c *Controller) EnqueueApp(key app.Key) {
	c.mu.Lock()
	if e := c.appSet[key]; e != nil {
		e.due = time.Time{}
	}
	c.mu.Unlock()
	c.apps.Add(key)
}
