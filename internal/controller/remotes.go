package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/apply/remote"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/source/cloud"
)

// Remotes opens other clusters.
type Remotes interface {
	// Open returns what works on the cluster of a kubeconfig. It asks nothing of the server yet.
	Open(k cluster.Kubeconfig) (Remote, error)
	// Clouds gives credentials of clouds for their clusters; nil for none.
	Clouds() *cloud.Exchange
}

// Remote is what works on a cluster: the parts that differ from one to another.
type Remote struct {
	Client     *cluster.Client
	Watcher    live.Watcher
	Configured Configured // nil for not looking
	// Connection and Dependencies are those of another cluster than that of the custom resources.
	Connection   *remote.Connection
	Dependencies reconcile.Dependencies // without what the controller provides itself
}

// remoteTarget is what a target has besides if its cluster is another one than that of the custom resources.
type remoteTarget struct {
	connection *remote.Connection
	digest     string // of the kubeconfig
	end        context.CancelFunc
	listed     chan struct{}    // closed when the claimants of the cluster are known
	users      map[app.Key]bool // the apps that have their objects there, or are about to; guarded by targets.mu
}

// targets are the clusters that apps have objects in. One that is no app's any more is closed.
type targets struct {
	own      *target
	ctx      context.Context // of the run
	follower follower        // of the Secrets and ConfigMaps that name clusters
	changed  *queue[app.Key] // of which such an object has changed

	mu   sync.Mutex
	of   map[app.Key]*target // those that are not own
	open map[string]*target  // by the digest of the kubeconfig
}

// at returns where an app works now.
func (s *targets) at(key app.Key) *target {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.of[key]; t != nil {
		return t
	}
	return s.own
}

// all returns every target that is open, own first.
func (s *targets) all() []*target {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []*target{s.own}
	for _, t := range s.of {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// engineOf returns the engine that an app works in.
func (c *Controller) engineOf(key app.Key) *reconcile.Engine { return c.targets.at(key).engine }

// route moves an app to the engine of the cluster that its objects are in. An app whose kubeconfig cannot be used is moved to that of its custom
// resource, which refuses it; the returned app says why. The error is about this cluster, and may pass.
func (c *Controller) route(ctx context.Context, a app.App) (app.App, error) {
	c.followKubeconfig(a)
	to, refused, err := c.targetFor(ctx, a)
	if err != nil {
		return a, err
	}
	if refused != nil {
		a = a.RefuseCluster(refused.Error())
	}
	from := c.targets.at(a.Key)
	if from == to {
		return a, nil
	}
	if err := from.engine.Detach(ctx, a.Key); err != nil {
		c.targets.unuse(a.Key, to)
		return a, err
	}
	c.targets.move(a.Key, to)
	to.engine.BeginRun(a.Key)
	return a, nil
}

// targetFor returns the target of an app, which counts as used by it; refused says why there is none but own.
func (c *Controller) targetFor(ctx context.Context, a app.App) (to *target, refused, err error) {
	named := a.Kubeconfig.IsNamed()
	if !named && (!a.Kubeconfig.IsSet() || len(a.Problems) > 0) {
		return c.targets.own, nil, nil
	}
	if c.Remotes == nil {
		return c.targets.own, errors.New("this truce works for its own cluster alone"), nil
	}
	found, err := remote.LocateCluster(ctx, c.Cluster, c.Remotes.Clouds(), a)
	if err != nil || found.Refused != nil {
		return c.targets.own, found.Refused, err
	}
	if named && c.locate(a, found.Cluster) {
		return c.targets.own, nil, errLocated
	}
	if len(a.Problems) > 0 || found.Cluster.Own {
		return c.targets.own, nil, nil
	}
	to, err = c.targets.use(c, a.Key, found.Kubeconfig)
	if err != nil {
		return c.targets.own, fmt.Errorf("%s: %w", a.TargetName(), err), nil
	}
	return to, nil, nil
}

// followKubeconfig watches what says in which cluster an app's objects are, and nothing else: a Secret, a ConfigMap, or the Secrets of Argo CD's clusters.
func (c *Controller) followKubeconfig(a app.App) {
	secret := live.Interest{GVK: object.GVK{Version: "v1", Kind: "Secret"}, Namespace: a.Key.Namespace, Depth: live.Metadata}
	var all []live.Interest
	switch k := a.Kubeconfig; {
	case c.Remotes == nil:
	case k.IsNamed():
		secret.Namespace, secret.Selector = a.ArgoNamespace(), identity.ClusterSecrets
		all = []live.Interest{secret}
	case !k.IsSet() || len(a.Problems) > 0:
	case k.ConfigMap != "":
		all = []live.Interest{{GVK: object.GVK{Version: "v1", Kind: "ConfigMap"}, Namespace: a.Key.Namespace, Name: k.ConfigMap, Depth: live.Metadata}}
	default:
		secret.Name = k.Secret
		all = []live.Interest{secret}
	}
	c.targets.follower.follow(a.Key, all)
}

// kubeconfigChanged runs an app whose kubeconfig has changed.
func (c *Controller) kubeconfigChanged(_ context.Context, key app.Key) time.Duration {
	c.EnqueueApp(key)
	return 0
}

// use returns the open target of a kubeconfig, which counts as used by the app, and opens it if there is none.
func (s *targets) use(c *Controller, key app.Key, k cluster.Kubeconfig) (*target, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.open[k.Digest()]
	if t == nil || t.remote.connection.Moved() {
		r, err := c.Remotes.Open(k)
		if err != nil {
			return nil, err
		}
		t = c.newRemoteTarget(s.ctx, r, k.Digest())
		s.open[k.Digest()] = t
	}
	t.remote.users[key] = true
	return t, nil
}

// move makes a target the one that an app works in.
func (s *targets) move(key app.Key, to *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from := s.of[key]; from != nil {
		s.drop(key, from)
	}
	delete(s.of, key)
	if to != s.own {
		s.of[key] = to
	}
}

// unuse ends the use of a target that an app was about to work in.
func (s *targets) unuse(key app.Key, t *target) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t != s.own {
		s.drop(key, t)
	}
}

// drop ends the use of a target by an app, and closes it if it is no app's any more. The caller holds mu.
func (s *targets) drop(key app.Key, t *target) {
	r := t.remote
	delete(r.users, key)
	if len(r.users) > 0 {
		return
	}
	if s.open[r.digest] == t {
		delete(s.open, r.digest)
	}
	r.end()
	r.connection.Close()
}

// newRemoteTarget opens a target and begins its work.
func (c *Controller) newRemoteTarget(ctx context.Context, r Remote, digest string) *target {
	ctx, end := context.WithCancel(ctx)
	own := &remoteTarget{connection: r.Connection, digest: digest, end: end, listed: make(chan struct{}), users: map[app.Key]bool{}}
	r.Dependencies.Remote = own
	t := c.newTarget(r, r.Dependencies)
	t.remote, t.claimants.tolerant = own, true
	t.engine.History.OnWentBack(t.startOver)
	t.kinds.start(ctx)
	t.follower.start(ctx)
	g, ctx := errgroup.WithContext(ctx)
	t.start(ctx, g)
	go c.recoverPanic("remote cluster", r.Connection.Server(), func() { t.supervise(ctx) })
	c.Log.Info("remote cluster opened", "server", r.Connection.Server())
	return t
}

// supervise lists the claimants of the cluster when it can be reached, and runs its apps when it can be reached again, or no longer.
func (t *target) supervise(ctx context.Context) {
	known, reached := false, false
	for ctx.Err() == nil {
		_, err := t.remote.connection.Identify(ctx)
		if err == nil && !known {
			known = true
			t.watchDefinitions(ctx)
			t.recognise(ctx)
			close(t.remote.listed)
		}
		if now := err == nil; now != reached && ctx.Err() == nil {
			reached = now
			t.c.Log.Info("remote cluster", "server", t.remote.connection.Server(), "reachable", now)
			t.enqueueApps()
		}
		t.remote.awaitDoubt(ctx)
	}
}

// enqueueApps runs the apps of the cluster.
func (t *target) enqueueApps() {
	t.c.targets.mu.Lock()
	apps := slices.Collect(maps.Keys(t.remote.users))
	t.c.targets.mu.Unlock()
	for _, key := range apps {
		t.c.EnqueueApp(key)
	}
}

// doubtEvery is the least pause between two questions that failed requests cause.
const doubtEvery = time.Second

// awaitDoubt returns when the server should be asked again: it may not be reachable any more, or again.
func (r *remoteTarget) awaitDoubt(ctx context.Context) {
	var again <-chan time.Time
	if at := r.connection.Again(); !at.IsZero() && !r.connection.Moved() {
		again = time.After(max(time.Until(at), time.Millisecond))
	}
	select {
	case <-r.connection.Doubts():
		select {
		case <-time.After(doubtEvery):
		case <-ctx.Done():
		}
	case <-again:
	case <-ctx.Done():
	}
}

// listedSoon is how long a run waits for the claimants of a cluster that has just been reached.
const listedSoon = 10 * time.Second

// Identify implements the Remote of reconcile.Dependencies. Nothing is done in a cluster whose claimants are not known.
func (r *remoteTarget) Identify(ctx context.Context) (string, error) {
	id, err := r.connection.Identify(ctx)
	if err != nil {
		return "", err
	}
	select {
	case <-r.listed:
		return id, nil
	case <-ctx.Done():
		return "", ctx.Err()
	case <-time.After(listedSoon):
		return "", errors.New("who claims fields there is not listed yet")
	}
}

// Is implements the Remote of reconcile.Dependencies.
func (r *remoteTarget) Is(identity string) bool { return r.connection.Is(identity) }

// isSame reports whether two targets are the same cluster, as far as that is known.
func (t *target) isSame(other *target) bool {
	return t == other || t.remote != nil && other.remote != nil && t.remote.connection.Known() != "" && t.remote.connection.Known() == other.remote.connection.Known()
}

// startOver forgets what is known of the cluster's objects: its data went back to an older state.
func (t *target) startOver() {
	t.c.Log.Warn("the data of a remote API server went back to an older state: everything is listed and compared again, and the first run of each app prunes nothing", "server", t.remote.connection.Server())
	t.engine.StartOver()
	t.enqueueApps()
}
