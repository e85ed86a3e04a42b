// Package controller answers: when does what run?
//
// In: watches of custom resources, claimants and managed kinds; clocks; requests.
// Out: runs of reconcile, fetches of sources, and status, events and finalizers of the custom resources.
// Promise: no app waits for another: readiness and dependencies are events; one app, source or object is worked on by one goroutine at
// a time; a status is written once for each real change.
// Not here: any logic of what to do (reconcile and the judges), the words of a status (dialect).
package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// Controller runs everything that has to run.
type Controller struct {
	Options
	targets targets

	apps     *queue[app.Key]
	sources  *queue[app.SourceKey]
	statuses *queue[app.Key]
	records  *queue[app.Key]
	settles  *queue[app.Key] // of which matters may have ended

	backgroundPace *rate.Limiter

	events   chan *unstructured.Unstructured
	dropped  atomic.Int64 // events that found no room, and were not reported
	messages chan notify.Message
	texts    object.Packer // of custom resources

	backoff   workqueue.TypedRateLimiter[string]  // of work that has panicked
	conflicts workqueue.TypedRateLimiter[app.Key] // of writes of custom resources

	dependents   dependents
	terminations terminations
	claims       *claim.Catalogue // with the ConfigMap's; guarded by mu, as is the next
	replaced     chan struct{}    // closed when claims is replaced

	values        valueWatches
	projects      projects
	sourceWatches []sourceWatch // complete before any worker starts

	mu          sync.RWMutex
	appSet      map[app.Key]*appEntry
	sourceSet   map[app.SourceKey]*sourceEntry
	lacking     map[string]string   // by the kind of app: what its CRD lacks
	remarked    map[app.Key]string  // which of it an event has reported
	whole       map[object.GVK]bool // kinds whose status is no subresource
	subresource map[object.GVK]bool // kinds whose last status was written as a subresource
	eras        int                 // how often the server's data went back
}

// NewController returns a Controller and its engine, which takes from d all that the controller does not provide itself.
func NewController(o Options, d reconcile.Dependencies) *Controller {
	o.Pace = o.Pace.OrDefault()
	c := &Controller{
		Options: o, backoff: newBackoff(), conflicts: workqueue.NewTypedItemExponentialFailureRateLimiter[app.Key](retryConflict, mostConflictPause),
		appSet: map[app.Key]*appEntry{}, sourceSet: map[app.SourceKey]*sourceEntry{}, whole: map[object.GVK]bool{}, subresource: map[object.GVK]bool{},
		apps: newQueue[app.Key]("apps", o.Queues), sources: newQueue[app.SourceKey]("sources", o.Queues), statuses: newQueue[app.Key]("statuses", o.Queues),
		records: newQueue[app.Key]("records", o.Queues), settles: newQueue[app.Key]("settles", o.Queues),
		backgroundPace: rate.NewLimiter(backgroundRate, backgroundBurst), lacking: map[string]string{}, remarked: map[app.Key]string{},
		events: make(chan *unstructured.Unstructured, pendingEvents), messages: make(chan notify.Message, pendingEvents),
	}
	if c.Observer == nil {
		c.Observer = NoObserver{}
	}
	if c.Catalogue == nil {
		c.Catalogue = claim.Builtin()
	}
	c.claims, c.replaced = c.Catalogue, make(chan struct{})
	own := c.newTarget(Remote{Client: o.Cluster, Watcher: o.Watcher, Configured: o.Configured}, d)
	own.kinds.limited, own.claimants.places = o.Namespaces.Limited(), o.Namespaces
	if o.Objects != nil {
		own.kinds.watcher = guardedWatcher{o.Objects, own}
	}
	own.engine.History.OnWentBack(c.startOver)
	c.Watcher = own.watcher
	c.targets = targets{own: own, changed: newQueue[app.Key]("kubeconfigs", o.Queues), of: map[app.Key]*target{}, open: map[string]*target{}}
	c.targets.follower = follower{watcher: c.Watcher, changed: c.targets.changed}
	return c
}

// Engine returns the engine of the cluster that holds the custom resources.
func (c *Controller) Engine() *reconcile.Engine { return c.targets.own.engine }

// Run works until ctx ends, then returns nil; or it returns why it cannot begin.
func (c *Controller) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	own := c.targets.own
	own.kinds.start(ctx)
	own.follower.start(ctx)
	c.targets.ctx = ctx
	c.targets.follower.start(ctx)
	c.terminations.ctx = ctx
	g.Go(func() error { return c.writeEvents(ctx) })
	g.Go(func() error { return c.sendMessages(ctx) })
	if c.watchClaimants(ctx); ctx.Err() != nil {
		return g.Wait()
	}
	c.lookForLacks(ctx)
	own.watchDefinitions(ctx)
	c.watchProjects(ctx)
	c.watchCustomResources(ctx, g)
	for _, w := range c.sourceWatches {
		g.Go(func() error { c.enqueueListed(ctx, w); return nil })
	}
	g.Go(func() error { c.awaitProjects(ctx); return nil })
	if c.Outlet != nil {
		g.Go(func() error { return c.Outlet.Run(ctx) })
	}
	startWorkers(ctx, g, c.settles, 1, withRecovery(c, "matters", c.settleMatters))
	fair := newPlaces(c.sources, c.Workers.Sources, c.Log)
	startWorkersWithSlowLane(ctx, g, c.sources, c.Workers.Sources, fair.share(withRecovery(c, "source", c.reconcileSource)))
	startWorkersWithSlowLane(ctx, g, c.apps, c.Workers.Apps, withRecovery(c, "app", c.reconcileApp))
	startWorkers(ctx, g, c.statuses, c.Workers.Statuses, withRecovery(c, "status", c.writeStatus))
	startWorkers(ctx, g, c.records, recordWorkers, withRecovery(c, "inventory", c.writeInventory))
	startWorkers(ctx, g, c.targets.changed, 1, withRecovery(c, "kubeconfig", c.kubeconfigChanged))
	own.start(ctx, g)
	defer c.writeLastInventories(ctx)
	return g.Wait()
}

func (c *Controller) watchCustomResources(ctx context.Context, g *errgroup.Group) {
	c.values.ctx = ctx
	watch := func(gvk object.GVK, namespace string, handle func(live.Event)) live.Watch {
		i := live.Interest{GVK: gvk, Namespace: namespace, Depth: live.Full}
		w := c.Watcher.Watch(ctx, i, handle)
		g.Go(func() error { return c.retainMatters(ctx, w, i) })
		return w
	}
	for _, namespace := range c.Namespaces.Each() {
		for gvk, f := range c.Kinds.Sources {
			w := watch(gvk, namespace, func(ev live.Event) { c.onSourceEvent(f, ev) })
			c.sourceWatches = append(c.sourceWatches, sourceWatch{w, gvk.Kind})
		}
		for gvk, f := range c.Kinds.Apps {
			watch(gvk, namespace, func(ev live.Event) { c.onAppEvent(f, ev) })
		}
	}
}

func (t *target) reconcileObject(ctx context.Context, id object.ID) time.Duration {
	again, err := t.engine.Object(ctx, id)
	if err != nil {
		t.c.Log.Warn("object", "id", id.String(), "error", err.Error())
		var p *panics.Error
		if errors.As(err, &p) {
			return max(retryObject, t.c.backoff.When(id.String()))
		}
		return retryObject
	}
	t.c.backoff.Forget(id.String())
	if again.IsZero() {
		return 0
	}
	return t.c.until(again)
}

// until is how long it is until then.
func (c *Controller) until(at time.Time) time.Duration {
	return max(time.Until(at), time.Millisecond)
}

// retryObject is the pause before an object that could not be brought in line is tried again without an event.
const retryObject = 30 * time.Second

// queue is a work queue that works on a key by one goroutine at a time, and holds it once.
type queue[K comparable] struct {
	workqueue.TypedDelayingInterface[K]
}

func newQueue[K comparable](name string, counts workqueue.MetricsProvider) *queue[K] {
	return &queue[K]{workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{Name: name, MetricsProvider: counts})}
}

// startWorkers starts n goroutines that hand keys to do until ctx ends. What do returns is when the key is due again; 0 for never.
func startWorkers[K comparable](ctx context.Context, g *errgroup.Group, q *queue[K], n int, do func(context.Context, K) time.Duration) {
	g.Go(func() error {
		<-ctx.Done()
		q.ShutDown()
		return nil
	})
	for range n {
		g.Go(func() error {
			for {
				key, down := q.Get()
				if down {
					return nil
				}
				if again := do(ctx, key); again > 0 {
					q.AddAfter(key, again)
				}
				q.Done(key)
			}
		})
	}
}
