// Package controller answers: when does what run?
//
// In: watches of custom resources, claimants and managed kinds; clocks; requests.
// Out: runs of reconcile, fetches of sources, and status, events and finalizers of the custom resources.
// Promise: no app waits for another: readiness and dependencies are events; one app, source or object is worked on by one goroutine at
// a time; a status is written once for each real change.
// Not here: any logic of what to do (reconcile and the judges), the words of a status (front).
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/source"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/workqueue"
)

// Options are the parts that a controller drives.
type Options struct {
	Cluster *cluster.Client
	Watcher live.Watcher
	Fetcher source.Fetcher
	// Ancestry compares commits of a source; nil for not comparing.
	Ancestry interface {
		Related(ctx context.Context, s source.Spec, was, is string) (bool, error)
	}
	Local source.Watcher // reports at once changes in repositories on this machine
	Kinds Kinds
	// Configured knows the webhooks and policies of mutating admission; nil for not looking.
	Configured Configured
	// Namespaces are those whose custom resources are worked for; none means all.
	Namespaces cluster.Namespaces
	Process    app.Policy    // what holds where a custom resource says nothing
	Tenancy    tenancy.Rules // what holds for each app, whatever its custom resource says
	// Catalogue is what claimants are recognised by; nil for the built-in one. The ConfigMap truce-claims goes over it.
	Catalogue *claim.Catalogue
	// LocalSources says whether a source may be a repository on this machine: a user who may write a GitRepository then reads
	// what truce can read. It is for a machine of one's own.
	LocalSources LocalSources
	Workers      Workers
	Pace         Pace
	Log          *slog.Logger
	Now          func() time.Time
	Notice       func(reconcile.FindingEvent) // called with each; may be nil
	Report       func(app.Key)                // called with each app whose report changed; may be nil
	Kept         func()                       // called when a kind comes under watch or leaves; may be nil. It must not block
	// Ran is called with each run of an app that has ended, Fetched with each fetch of a source, with how long it took. Both may be nil.
	Ran     func(report.Report, time.Duration)
	Fetched func(app.SourceKey, time.Duration, error)
	Queues  workqueue.MetricsProvider // of the work queues; nil for none
	Notify  notify.Sender             // gets a copy of every Event; may be nil
	// Panicked is called with the kind of work of each panic that was recovered; nil for no call.
	Panicked func(work string)
}

// LocalSources says whether repositories on this machine are sources.
type LocalSources string

// The values of LocalSources. The zero value refuses.
const (
	RefuseLocal LocalSources = ""
	AllowLocal  LocalSources = "allow"
)

// Kinds are the custom resources that are translated, and by whom.
type Kinds struct {
	Apps    map[object.GVK]dialect.Apps
	Sources map[object.GVK]dialect.Sources
	// Lacks says what of an app's custom resource the server does not store under the CRD that it has, and what serves instead; empty
	// where it stores all that truce reads, and for the CRDs of other kinds. Nil for never asking.
	Lacks  func(crd object.Object) string
	Inline map[object.GVK]dialect.Sources // by the kind of the apps that name their source themselves
}

// Workers bound how much is worked on at once.
type Workers struct {
	Apps, Objects, Sources, Statuses int
}

// DefaultWorkers suit one API server: most of the time of each is spent waiting for it.
func DefaultWorkers() Workers { return Workers{Apps: 16, Objects: 16, Sources: 4, Statuses: 8} }

// OrDefault returns the bounds with those of DefaultWorkers where there is none.
func (w Workers) OrDefault() Workers {
	d := DefaultWorkers()
	return Workers{
		Apps: cmp.Or(w.Apps, d.Apps), Objects: cmp.Or(w.Objects, d.Objects),
		Sources: cmp.Or(w.Sources, d.Sources), Statuses: cmp.Or(w.Statuses, d.Statuses),
	}
}

// Controller runs everything that has to run.
type Controller struct {
	Options
	engine *reconcile.Engine
	kinds  *kinds

	apps     *queue[app.Key]
	objects  *queue[object.ID]
	sources  *queue[app.SourceKey]
	statuses *queue[app.Key]
	records  *queue[app.Key]
	pods     *queue[object.ID] // of workloads that do not work
	podPace  *rate.Limiter

	backgroundPace *rate.Limiter

	redefined *queue[string]   // API groups of which a CRD has changed
	deep      *queue[watchKey] // to be verified

	admission     admission
	admissionWork *queue[string]
	groups        *groups

	events   chan *unstructured.Unstructured
	dropped  atomic.Int64 // events that found no room, and were not reported
	messages chan notify.Message
	texts    object.Packer // of custom resources

	backoff workqueue.TypedRateLimiter[string] // of work that has panicked

	claimants claimants
	claimWork *queue[string]
	claims    *claim.Catalogue // with the ConfigMap's; guarded by mu

	sourceWatches []live.Watch // complete before any worker starts

	mu          sync.RWMutex
	appSet      map[app.Key]*appEntry
	sourceSet   map[app.SourceKey]*sourceEntry
	lacking     map[string]string   // by the kind of app: what its CRD lacks
	remarked    map[app.Key]string  // which of it an event has reported
	whole       map[object.GVK]bool // kinds whose status is no subresource
	subresource map[object.GVK]bool // kinds whose last status was written as a subresource
}

// NewController returns a Controller and its engine, which takes from d all that the controller does not provide itself.
func NewController(o Options, d reconcile.Dependencies) *Controller {
	o.Pace = o.Pace.OrDefault()
	c := &Controller{
		Options: o, backoff: newBackoff(),
		appSet: map[app.Key]*appEntry{}, sourceSet: map[app.SourceKey]*sourceEntry{}, whole: map[object.GVK]bool{}, subresource: map[object.GVK]bool{},
		apps: newQueue[app.Key]("apps", o.Queues), objects: newQueue[object.ID]("objects", o.Queues),
		sources: newQueue[app.SourceKey]("sources", o.Queues), statuses: newQueue[app.Key]("statuses", o.Queues),
		records: newQueue[app.Key]("records", o.Queues), pods: newQueue[object.ID]("pods", o.Queues), podPace: rate.NewLimiter(podReads, podReads), redefined: newQueue[string]("redefined", o.Queues),
		deep: newQueue[watchKey]("deep", o.Queues), claimWork: newQueue[string]("claimants", o.Queues),
		admissionWork:  newQueue[string]("admission", o.Queues),
		backgroundPace: rate.NewLimiter(backgroundRate, backgroundBurst),
		groups:         newGroups(o.Pace.Resettle), lacking: map[string]string{}, remarked: map[app.Key]string{},
		events: make(chan *unstructured.Unstructured, pendingEvents), messages: make(chan notify.Message, pendingEvents),
	}
	if c.Catalogue == nil {
		c.Catalogue = claim.Builtin()
	}
	c.claims = c.Catalogue
	c.Watcher = guardedWatcher{o.Watcher, c}
	c.kinds = newKinds(c.Watcher, func(gvk object.GVK) error {
		_, err := o.Cluster.Resource(gvk)
		if errors.Is(err, cluster.ErrUnknownKind) {
			return fmt.Errorf("%s: %w", gvk, live.ErrUnknownKind)
		}
		return err
	})
	c.kinds.changed = o.Kept
	c.kinds.allowed = c.onWatchAllowed
	c.kinds.limited = o.Namespaces.Limited()
	c.kinds.claimants = &c.claimants
	c.claimants.turn = make(chan struct{}, 1)
	c.claimants.watcher, c.claimants.served, c.claimants.log = c.Watcher, c.kinds.served, o.Log
	c.claimants.places, c.claimants.learn = o.Namespaces, o.Cluster.Learn
	c.claimants.everywhere, c.claimants.again = c.isClusterWide, c.claimWork.Add
	c.engine = c.newEngine(d)
	c.engine.History.OnWentBack(c.startOver)
	c.kinds.objects, c.kinds.began = guardedObjects{c.engine, c}, c.verifyFirst
	return c
}

// home is the namespace of what is about this truce itself.
func (c *Controller) home() string { return c.Namespaces.Home(c.Cluster.Namespace()) }

// isClusterWide reports whether the objects of a kind lie in no namespace.
func (c *Controller) isClusterWide(gvk object.GVK) bool {
	r, err := c.Cluster.Resource(gvk)
	return err == nil && !r.Namespaced
}

// newEngine returns the engine of the controller, which is its queue, its observer, and where it looks up sources and watches.
func (c *Controller) newEngine(d reconcile.Dependencies) *reconcile.Engine {
	d.Sources, d.Histories, d.Watches, d.Observer = c, c, c.kinds, c
	if c.Configured != nil {
		d.Admission = c
	}
	return reconcile.NewEngine(d, c)
}

// Engine returns the engine that the controller drives.
func (c *Controller) Engine() *reconcile.Engine { return c.engine }

// Run works until ctx ends, then returns nil; or it returns why it cannot begin.
func (c *Controller) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	c.kinds.start(ctx)
	if err := c.watchClaimants(ctx); err != nil {
		return err
	}
	c.lookForLacks(ctx)
	c.watchDefinitions(ctx)
	c.watchCustomResources(ctx)
	for _, w := range c.sourceWatches {
		g.Go(func() error { c.enqueueListed(ctx, w); return nil })
	}
	g.Go(func() error { return c.writeEvents(ctx) })
	g.Go(func() error { return c.sendMessages(ctx) })
	startWorkersWithSlowLane(ctx, g, c.sources, c.Workers.Sources, withRecovery(c, "source", c.reconcileSource))
	startWorkersWithSlowLane(ctx, g, c.apps, c.Workers.Apps, withRecovery(c, "app", c.reconcileApp))
	startWorkers(ctx, g, c.objects, c.Workers.Objects, withRecovery(c, "object", c.reconcileObject))
	startWorkers(ctx, g, c.claimWork, 1, withRecovery(c, "claimants", c.refreshClaimants))
	startWorkers(ctx, g, c.statuses, c.Workers.Statuses, withRecovery(c, "status", c.writeStatus))
	startWorkers(ctx, g, c.records, recordWorkers, withRecovery(c, "inventory", c.writeInventory))
	startWorkers(ctx, g, c.pods, 1, withRecovery(c, "pods", c.readPods))
	startWorkers(ctx, g, c.redefined, 1, withRecovery(c, "definition", c.onDefinitionsChanged))
	startWorkers(ctx, g, c.deep, 1, withRecovery(c, "full check", c.verifyKind))
	startWorkers(ctx, g, c.admissionWork, 1, withRecovery(c, "admission", c.compareMutated))
	defer c.writeLastInventories(ctx)
	return g.Wait()
}

func (c *Controller) watchCustomResources(ctx context.Context) {
	for _, namespace := range c.Namespaces.Each() {
		for gvk, f := range c.Kinds.Sources {
			w := c.Watcher.Watch(ctx, live.Interest{GVK: gvk, Namespace: namespace, Depth: live.Full}, func(ev live.Event) { c.onSourceEvent(f, ev) })
			c.sourceWatches = append(c.sourceWatches, w)
		}
		for gvk, f := range c.Kinds.Apps {
			c.Watcher.Watch(ctx, live.Interest{GVK: gvk, Namespace: namespace, Depth: live.Full}, func(ev live.Event) { c.onAppEvent(f, ev) })
		}
	}
}

func (c *Controller) reconcileObject(ctx context.Context, id object.ID) time.Duration {
	again, err := c.engine.Object(ctx, id)
	if err != nil {
		c.Log.Warn("object", "id", id.String(), "error", err.Error())
		var p *panics.Error
		if errors.As(err, &p) {
			return max(retryObject, c.backoff.When(id.String()))
		}
		return retryObject
	}
	c.backoff.Forget(id.String())
	if again.IsZero() {
		return 0
	}
	return c.until(again)
}

// until is how long it is until then.
func (c *Controller) until(at time.Time) time.Duration { return max(at.Sub(c.Now()), time.Millisecond) }

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
