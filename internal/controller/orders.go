package controller

import (
	"context"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// updateEntry makes a custom resource the entry's newest, and reports whether it asks for anything that the one before did not. The
// caller holds mu.
func (c *Controller) updateEntry(e *appEntry, seen observedApp) (news bool) {
	first := !e.kept.Known()
	if !first && seen.uid() == e.asks.uid && seen.version != 0 && seen.version < e.version {
		return false // older than the answer to our own write or read
	}
	seen.app = c.bind(seen.app) // here, where rebind waits: a project that has changed since the event would not bound it
	c.conflicts.Forget(seen.app.Key)
	before := e.app
	e.kept, e.version, e.app = seen.kept, seen.version, seen.app
	c.noteWithdrawn(before, seen.app)
	news = first || e.asks != seen.asks || seen.app.Request != "" && seen.app.Request != before.Request
	e.asks = seen.asks
	news = news || seen.app.Terminating && (!before.Terminating || before.TerminatingRequest != seen.app.TerminatingRequest)
	wanted := e.wants.Token
	e.wants = seen.app.SyncRequest
	enforces := seen.app.Policy.Mode == policy.Enforce
	if !enforces { // what another controller has begun is its own to end
		e.order = app.SyncRequest{}
	}
	switch {
	case e.wants.StartedAt.IsZero(): // it is requested
	case enforces && (first || before.Policy.Mode != policy.Enforce): // an earlier process has begun it, or the controller that the app is adopted from
		e.order, e.wants = e.wants, app.SyncRequest{}
	case e.wants.Token == wanted && before.Policy.Mode == policy.Enforce: // we wrote that it is begun, and got no answer: takeUp does it again
	default: // this one has begun it
		e.wants = app.SyncRequest{}
	}
	e.app = withSyncRequest(seen.app, e.order)
	return news || e.wants.Token != "" && e.wants.Token != wanted
}

// changedApp is an app whose custom resource is another one now.
type changedApp struct {
	app  app.App
	read app.SourceKey // its source before
	news bool          // it asks for something that it did not ask for before
}

// replaceEntry is updateEntry for an app that is enqueued by followChange. The caller holds mu.
func (c *Controller) replaceEntry(e *appEntry, seen observedApp) changedApp {
	read := e.app.Source
	news := c.updateEntry(e, seen)
	if news {
		e.due = time.Time{}
	}
	return changedApp{e.app, read, news}
}

// followChange does what the change of a custom resource asks for.
func (c *Controller) followChange(id object.ID, x changedApp) {
	a, key := x.app, x.app.Key
	c.attachSource(key)
	c.watchValues(a)
	if x.read != a.Source {
		c.detachSource(x.read)
	}
	c.dependencyChanged(id)
	if !x.news {
		return
	}
	c.dependenciesEdited(key)
	if a.Request != "" {
		c.requestFetch(a.Source)
	}
	c.engineOf(key).Supersede(key)
	c.apps.Add(key)
	if a.SourceInterval > 0 {
		c.sources.AddAfter(a.Source, a.SourceInterval)
	}
}

// noteWithdrawn has the engine forget a request that was taken off: the same text is another request then.
func (c *Controller) noteWithdrawn(before, now app.App) {
	if before.Request != "" && now.Request == "" {
		c.engineOf(now.Key).WithdrawRequest(now.Key)
	}
}

// withSyncRequest is the app as an order that was taken up wants it.
func withSyncRequest(a app.App, o app.SyncRequest) app.App {
	a.SyncRequest = o
	switch {
	case o.Token != "" && len(a.Parts) > 0:
		return a.WithRevisions(o.Revisions)
	case o.Token != "" && o.Revision != "":
		a.Source.Revision = o.Revision
	}
	return a
}

// observedApp is a custom resource as it was seen, and what it says: nothing bounds the app yet.
type observedApp struct {
	kept    object.Packed
	version uint64
	asks    request
	app     app.App
}

func (s observedApp) uid() string { return s.asks.uid }

func (c *Controller) observeApp(e *appEntry, ev live.Event) (observedApp, error) {
	a := e.front.App(ev.Object, c.Process)
	kept, err := c.packResource(ev.GVK, ev.Object)
	answered := e.front.AnsweredRequests(ev.Object, report.Report{Request: a.Request})
	version, _ := strconv.ParseUint(ev.Object.ResourceVersion(), 10, 64) // 0 where it is no number: then nothing is older
	return observedApp{kept: kept, version: version, asks: requestOf(ev.Object, answered), app: a}, err
}

// beginSyncRequest begins the order that the app's custom resource bears: the status says that it is under way, so that it is neither lost nor done twice.
func (c *Controller) beginSyncRequest(ctx context.Context, e appEntry) (appEntry, time.Duration) {
	if e.wants.Token == "" || e.order.Token != "" || e.app.Suspended || e.app.Policy.Mode != policy.Enforce {
		return e, 0
	}
	order := e.wants
	order.StartedAt = time.Now()
	r := c.engineOf(e.app.Key).Report(e.app.Key)
	r.Seen, r.At, r.Running = order.StartedAt, order.StartedAt, true
	r.Rollout = report.Rollout{Order: order, Revision: r.Revision, Begun: order.StartedAt}
	switch _, err := c.answer(ctx, e, r); {
	case apierrors.IsConflict(err):
		return e, c.conflicts.When(e.app.Key) // the watch is about to bring the newer form
	case err != nil:
		c.Log.Warn("take up order", "app", e.app.Key.String(), "error", err.Error())
		return e, pauseAfter(err)
	}
	c.engineOf(e.app.Key).BeginSyncRequest(e.app.Key, order)
	c.mu.Lock()
	known := c.appSet[e.app.Key]
	if known == nil {
		c.mu.Unlock()
		return e, time.Millisecond // deleted meanwhile
	}
	known.order = order
	if known.wants.Token == order.Token {
		known.wants = app.SyncRequest{}
	}
	known.app = withSyncRequest(known.app, order)
	due, found := known.due, *known
	c.mu.Unlock()
	found.due = due
	c.attachSource(found.app.Key)
	c.requestFetch(found.app.Source) // what was pushed before it was asked for
	return c.withResource(found), 0
}

// finishSyncRequest ends an order with its run, unless it is to be tried again. It returns when the app is to be looked at next.
func (c *Controller) finishSyncRequest(e *appEntry, r report.Report, wait time.Duration) time.Duration {
	o := r.Rollout
	if e.order.Token == "" || o.Order.Token != e.order.Token || o.Ended.IsZero() {
		return wait
	}
	if next, again := nextTry(r); again {
		return next
	}
	e.order = app.SyncRequest{}
	if cr := c.withResource(*e).cr; cr != nil {
		e.app = withSyncRequest(c.bind(e.front.App(cr, c.Process)), app.SyncRequest{})
	}
	return afterOrder
}

// afterOrder is the pause before an app is looked at without the order that has ended: it may follow another revision.
const afterOrder = 10 * time.Millisecond
