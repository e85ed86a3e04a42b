package controller

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/source"
)

// target is a cluster that apps have objects in, and the work on these: the cluster of the custom resources, or that of a kubeconfig. Each has its
// own engine, watches, queues and workers, so that one that does not answer delays no other.
type target struct {
	c          *Controller
	client     *cluster.Client
	watcher    live.Watcher
	configured Configured // nil for not looking
	remote     *remoteTarget

	engine *reconcile.Engine
	kinds  *kinds

	objects *queue[object.ID]
	pods    *queue[object.ID] // of workloads that do not work
	podPace *rate.Limiter

	redefined *queue[string]   // API groups of which a CRD has changed
	deep      *queue[watchKey] // to be verified

	admission     admission
	admissionWork *queue[string]
	groups        *groups

	follower follower
	checks   *queue[app.Key] // of which a health check may have changed

	claimants claimants
	claimWork *queue[string]
}

var _ reconcile.Queue = (*target)(nil)

// newTarget returns the target of a cluster, whose engine takes from d all that the controller does not provide itself.
func (c *Controller) newTarget(r Remote, d reconcile.Dependencies) *target {
	t := &target{
		c: c, client: r.Client, configured: r.Configured,
		objects: newQueue[object.ID]("objects", c.Queues), pods: newQueue[object.ID]("pods", c.Queues), podPace: rate.NewLimiter(podReads, podReads),
		redefined: newQueue[string]("redefined", c.Queues), deep: newQueue[watchKey]("deep", c.Queues), claimWork: newQueue[string]("claimants", c.Queues),
		admissionWork: newQueue[string]("admission", c.Queues), checks: newQueue[app.Key]("healthchecks", c.Queues), groups: newGroups(c.Pace.Resettle),
	}
	t.watcher = guardedWatcher{r.Watcher, t}
	t.kinds = newKinds(t.watcher, apiServer{r.Client}, t)
	t.kinds.claimants = &t.claimants
	t.claimants = claimants{watcher: t.watcher, server: t.kinds.server, again: t.claimWork, log: c.Log, turn: make(chan struct{}, 1)}
	t.follower = follower{watcher: t.watcher, changed: t.checks}
	d.Sources, d.Histories, d.Watches, d.Observer, d.Readiness, d.Namesakes, d.Follow, d.Apps = targetSources{t}, c, t.kinds, c, c, c, t, t
	if t.configured != nil {
		d.Admission = t
	}
	t.engine = reconcile.NewEngine(d, t)
	t.follower.observer = t.engine
	t.kinds.objects = guardedObjects{t.engine, c}
	return t
}

// remoteWorkers is how many objects of a cluster with a kubeconfig are reconciled at once: there may be many such clusters.
const remoteWorkers = 4

// checkWorkers is for how many apps health checks are read at once.
const checkWorkers = 4

// start begins the work on the objects, which ends with ctx.
func (t *target) start(ctx context.Context, g *errgroup.Group) {
	c, objects := t.c, t.c.Workers.Objects
	if t.remote != nil {
		objects = min(objects, remoteWorkers)
	}
	startWorkersWithSlowLane(ctx, g, t.objects, objects, withRecovery(c, "object", t.reconcileObject))
	startWorkers(ctx, g, t.claimWork, 1, withRecovery(c, "claimants", t.refreshClaimants))
	startWorkersWithSlowLane(ctx, g, t.checks, checkWorkers, withRecovery(c, "health checks", t.readChecks))
	startWorkers(ctx, g, t.pods, 1, withRecovery(c, "pods", t.readPods))
	startWorkers(ctx, g, t.redefined, 1, withRecovery(c, "definition", t.onDefinitionsChanged))
	startWorkers(ctx, g, t.deep, 1, withRecovery(c, "full check", t.verifyKind))
	startWorkers(ctx, g, t.admissionWork, 1, withRecovery(c, "admission", t.compareMutated))
}

// EnqueueApp implements reconcile.Queue.
func (t *target) EnqueueApp(key app.Key) { t.c.EnqueueApp(key) }

// EnqueueInventory implements reconcile.Queue.
func (t *target) EnqueueInventory(key app.Key) { t.c.records.AddAfter(key, recordPause) }

// AppChanged implements reconcile.Queue.
func (t *target) AppChanged(key app.Key) { t.c.AppChanged(key) }

// targetSources are the sources for the engine of a target, which knows the apps of its cluster alone.
type targetSources struct{ *target }

// Artifact implements reconcile.Sources.
func (s targetSources) Artifact(key app.SourceKey) (source.Artifact, error) { return s.c.Artifact(key) }

// Readers implements reconcile.Sources.
func (s targetSources) Readers(key app.SourceKey) []app.Key {
	var out []app.Key
	for _, reader := range s.c.Readers(key) {
		if s.c.targets.at(reader) == s.target {
			out = append(out, reader)
		}
	}
	return out
}

// Behind implements reconcile.Sources.
func (s targetSources) Behind(own app.SourceKey, since time.Time) ([]app.SourceKey, []app.Key) {
	return s.c.behind(s.target, own, since)
}
