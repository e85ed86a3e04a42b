package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// kinds keeps one watch for each kind and version in use: under our label, or of all its objects where some are only observed. A truce
// that is limited to some namespaces watches in those alone where its objects lie: rights in them are enough.
type kinds struct {
	watcher   live.Watcher
	objects   objects
	server    kindServer
	listener  kindListener
	limited   bool
	claimants *claimants
	ctx       context.Context // of the run: a watch outlives the app that first needed it

	mu      sync.Mutex
	watches map[watchKey]runningWatch
	refused map[watchKey]bool // waited for
}

// kindServer knows which kinds the API server serves.
type kindServer interface {
	// Served returns live.ErrUnknownKind for a kind that the server does not know.
	Served(object.GVK) error
	// ClusterWide reports whether the objects of a kind lie in no namespace.
	ClusterWide(object.GVK) bool
	// Learn finds out about many kinds at once.
	Learn([]object.GVK)
}

// apiServer is the kindServer of a cluster.
type apiServer struct{ *cluster.Client }

func (a apiServer) Served(gvk object.GVK) error {
	_, err := a.Resource(gvk)
	return err
}

func (a apiServer) ClusterWide(gvk object.GVK) bool {
	r, err := a.Resource(gvk)
	return err == nil && !r.Namespaced
}

// kindListener is called with what becomes of the watches. Its methods must not block.
type kindListener interface {
	// onWatchBegun is called with each kind that comes under watch.
	onWatchBegun(watchKey)
	// onPermissionChanged is called when a watch that was refused has its first list or begins after all, and when one that has listed may not
	// watch.
	onPermissionChanged(watchKey)
	// onWatchesChanged is called when a kind comes under watch or leaves.
	onWatchesChanged()
}

// objects takes what the watches bring.
type objects interface {
	OnEvent(ev live.Event)
	// Relisted is called after each complete list of a watch.
	OnRelist(i live.Interest)
}

// watchKey is what one watch is about: a kind in one namespace, or ("") all of its objects.
type watchKey struct {
	gvk       object.GVK
	namespace string
}

// runningWatch is a watch that can be ended.
type runningWatch struct {
	live.Watch
	interest live.Interest
	end      context.CancelFunc
	ended    <-chan struct{}
}

var _ reconcile.Watches = (*kinds)(nil)

func newKinds(w live.Watcher, s kindServer, l kindListener) *kinds {
	return &kinds{watcher: w, server: s, listener: l, watches: map[watchKey]runningWatch{}, refused: map[watchKey]bool{}}
}

func (k *kinds) start(ctx context.Context) { k.ctx = ctx }

// at is where the objects of a kind in a namespace are watched.
func (k *kinds) at(gvk object.GVK, namespace string) watchKey {
	if !k.limited {
		namespace = ""
	}
	return watchKey{gvk, namespace}
}

// listedWithin is how long a run waits for the first list of a kind: longer than a request for it may go without an answer. The watch goes on,
// and the run is tried again.
const listedWithin = 75 * time.Second

// Ensure starts a watch of what the interest names if there is none, and waits for its first list; live.ErrRefused is an answer, too, also of
// what may be listed and not watched, and so is live.ErrUnknownKind of a kind that leaves the server meanwhile.
// Who claims something there is known before that.
func (k *kinds) Ensure(ctx context.Context, i live.Interest) error {
	if err := k.server.Served(i.GVK); err != nil {
		return err
	}
	p := k.at(i.GVK, i.Namespace)
	i.Namespace = p.namespace
	if p.namespace != "" {
		k.claimants.cover(ctx, p.namespace)
	}
	w := k.watch(p, i)
	ctx, end := context.WithTimeout(ctx, listedWithin)
	defer end()
	err := live.AwaitListed(ctx, w, func(err error) bool { return apierrors.IsForbidden(err) || isUnserved(err, w, k.server) })
	switch {
	case ctx.Err() != nil, errors.Is(err, live.ErrUnknownKind):
		return err
	case err != nil:
		k.awaitPermission(p, w)
		return fmt.Errorf("%w: %w", live.ErrRefused, err)
	}
	if _, err := w.refused(); err != nil {
		return fmt.Errorf("%w: %w", live.ErrRefused, err)
	}
	return nil
}

// refusable is a Watch that may list and not watch: it lists again and again, with growing pauses.
type refusable interface {
	// Refused returns why the server lets nothing be watched, nil while it does, and a channel that is closed when that changes.
	Refused() (changed <-chan struct{}, err error)
}

func (w runningWatch) refused() (changed <-chan struct{}, err error) {
	if r, ok := w.Watch.(refusable); ok {
		return r.Refused()
	}
	return nil, nil
}

// reportRefusals reports each time that the watch may not watch what it has listed, and that it may again, until it ends: a run may end before
// the server has refused.
func (k *kinds) reportRefusals(p watchKey, w runningWatch) {
	select {
	case <-w.Synced():
	case <-w.ended:
		return
	}
	for reported := false; ; {
		changed, err := w.refused()
		if refused := err != nil; refused != reported {
			reported = refused
			k.listener.onPermissionChanged(p)
		}
		select {
		case <-changed:
		case <-w.ended:
			return
		}
	}
}

// awaitPermission reports when a refused watch is permitted: its retries go on meanwhile.
func (k *kinds) awaitPermission(p watchKey, w runningWatch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refused[p] {
		return
	}
	k.refused[p] = true
	go func() {
		allowed := false
		select {
		case <-w.Synced():
			allowed = true
		case <-w.ended:
		}
		k.mu.Lock()
		delete(k.refused, p)
		k.mu.Unlock()
		if allowed {
			k.listener.onPermissionChanged(p)
		}
	}()
}

// isUnserved reports whether a watch fails since its kind is not served. What the watch says may be as old as its last try.
func isUnserved(err error, w runningWatch, s kindServer) bool {
	return errors.Is(err, live.ErrUnknownKind) && errors.Is(s.Served(w.interest.GVK), live.ErrUnknownKind)
}

func (k *kinds) watch(p watchKey, i live.Interest) runningWatch {
	k.mu.Lock()
	defer k.mu.Unlock()
	narrow, ok := k.watches[p]
	if ok && (narrow.interest.Selector == i.Selector || narrow.interest.Selector == "") {
		return narrow
	}
	ctx, end := context.WithCancel(k.ctx)
	i.Depth = live.DepthOf(i.GVK)
	w := runningWatch{k.watcher.Watch(ctx, i, k.objects.OnEvent), i, end, ctx.Done()}
	go w.reportLists(k.objects)
	go k.reportRefusals(p, w)
	k.watches[p] = w
	k.listener.onWatchesChanged()
	if ok {
		go narrow.endAfter(ctx, w)
		return w
	}
	k.listener.onWatchBegun(p)
	return w
}

// relisting is a Watch that says when it has listed again: what was created and deleted while it was away is in no event of it.
type relisting interface {
	// Relisted returns a channel that is closed when the next complete list has been handed to the handler.
	Relisted() <-chan struct{}
}

// reportLists reports the watch's complete lists until it ends.
func (w runningWatch) reportLists(to objects) {
	lists, ok := w.Watch.(relisting)
	if !ok {
		return
	}
	for {
		listed := lists.Relisted()
		select {
		case <-listed:
			to.OnRelist(w.interest)
		case <-w.ended:
			return
		}
	}
}

// endAfter ends the watch when the one that replaces it has listed all: a delete in between is reported by this one.
func (w runningWatch) endAfter(ctx context.Context, next live.Watch) {
	select {
	case <-next.Synced():
	case <-ctx.Done():
	}
	w.end()
}

// interest is what is watched there.
func (k *kinds) interest(p watchKey) live.Interest {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.watches[p].interest
}

// retire ends a watch that is not used, and reports whether there is none.
func (k *kinds) retire(p watchKey, used func() bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, ok := k.watches[p]
	if !ok || used() {
		return !ok
	}
	w.end()
	delete(k.watches, p)
	k.listener.onWatchesChanged()
	return true
}

// Watched returns what is watched of a kind in a namespace; false where the first list has not been handed over.
func (k *kinds) Watched(gvk object.GVK, namespace string) (live.Interest, bool) {
	if !k.Synced(gvk, namespace) {
		return live.Interest{}, false
	}
	return k.interest(k.at(gvk, namespace)), true
}

// Synced reports whether the first list of a kind in a namespace has been handed over.
func (k *kinds) Synced(gvk object.GVK, namespace string) bool {
	k.mu.Lock()
	w, ok := k.watches[k.at(gvk, namespace)]
	k.mu.Unlock()
	if !ok {
		return false
	}
	select {
	case <-w.Synced():
		return true
	default:
		return false
	}
}
