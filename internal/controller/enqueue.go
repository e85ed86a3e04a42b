package controller

import (
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

var (
	_ reconcile.Queue    = (*Controller)(nil)
	_ reconcile.Observer = (*Controller)(nil)
)

// Enqueue implements reconcile.Queue. A worker calls Controller.object with it.
func (c *Controller) Enqueue(id object.ID) { c.objects.Add(id) }

// EnqueueAt implements reconcile.Queue.
func (c *Controller) EnqueueAt(id object.ID, at time.Time) { c.objects.AddAfter(id, c.until(at)) }

// EnqueueInventory implements reconcile.Queue.
func (c *Controller) EnqueueInventory(key app.Key) { c.records.AddAfter(key, recordPause) }

// EnqueuePods implements reconcile.Queue.
func (c *Controller) EnqueuePods(id object.ID, at time.Time) { c.pods.AddAfter(id, c.until(at)) }

// OnFinding implements reconcile.Observer.
func (c *Controller) OnFinding(n reconcile.FindingEvent) {
	if c.Notice != nil {
		c.Notice(n)
	}
	if n.Carried {
		f := n.Finding
		c.Log.Info("put back", "app", n.App.String(), "object", n.ID.String(), "field", field.PathString(f.Path), "by", f.Writer.String(), "evidence", string(f.Writer.Evidence))
	}
	if !c.observes(n.App) {
		c.emitFinding(n)
	}
}

// statusDelay gathers what happens in quick succession into one status write.
const statusDelay = 40 * time.Millisecond

// AppChanged implements reconcile.Queue.
func (c *Controller) AppChanged(key app.Key) {
	c.statuses.AddAfter(key, statusDelay)
	if c.Report != nil {
		c.Report(key)
	}
}

// EnqueueApp implements reconcile.Queue: the app's next run is due at once.
func (c *Controller) EnqueueApp(key app.Key) {
	c.mu.Lock()
	if e := c.appSet[key]; e != nil {
		e.due = time.Time{}
	}
	c.mu.Unlock()
	c.apps.Add(key)
}
