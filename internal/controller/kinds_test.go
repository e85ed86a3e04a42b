package controller

import (
	"context"
	"errors"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// listed is a watch that has its first list.
type listed struct {
	mu     sync.Mutex
	err    error
	failed chan struct{}
}

func (l *listed) Watch(context.Context, live.Interest, func(live.Event)) live.Watch { return l }

func (l *listed) Synced() <-chan struct{} {
	synced := make(chan struct{})
	close(synced)
	return synced
}

func (l *listed) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *listed) Failed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = make(chan struct{})
	}
	return l.failed
}

// end is how the newest try to watch has ended.
func (l *listed) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	if err != nil && l.failed != nil {
		close(l.failed)
		l.failed = nil
	}
}

// ignored takes what the watches bring, and does nothing.
type ignored struct{}

func (ignored) OnEvent(live.Event)     {}
func (ignored) OnRelist(live.Interest) {}

// permissions is a kindListener that passes on what may be watched no more.
type permissions chan watchKey

func (permissions) onWatchBegun(watchKey)            {}
func (permissions) onWatchesChanged()                {}
func (p permissions) onPermissionChanged(w watchKey) { p <- w }

// TestAWatchThatIsRefusedAfterItsListIsReported: the role has the verb list, and not watch.
func TestAWatchThatIsRefusedAfterItsListIsReported(t *testing.T) {
	i := live.Interest{GVK: object.GVK{Version: "v1", Kind: "ConfigMap"}, Selector: "ours"}
	w, changed := &listed{}, make(permissions, 10)
	k := newKinds(w, &answering{}, changed)
	k.objects = ignored{}
	k.start(t.Context())
	if err := k.Ensure(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	w.end(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no")))
	if got := <-changed; got.gvk != i.GVK {
		t.Errorf("reported of %s", got.gvk)
	}
	if err := k.Ensure(t.Context(), i); !errors.Is(err, live.ErrRefused) {
		t.Errorf("refused: %v", err)
	}
	w.end(nil)
	if err := k.Ensure(t.Context(), i); err != nil {
		t.Errorf("permitted: %v", err)
	}
}

// counting is a watcher that counts.
type counting struct {
	listed
	begun int
}

func (c *counting) Watch(ctx context.Context, i live.Interest, handle func(live.Event)) live.Watch {
	c.begun++
	return c.listed.Watch(ctx, i, handle)
}

// TestObjectsOfAppsAreWatchedByAWatcherOfTheirOwn: readiness depends on all that the other one watches.
func TestObjectsOfAppsAreWatchedByAWatcherOfTheirOwn(t *testing.T) {
	all, objects := &counting{}, &counting{}
	own := NewController(Options{Watcher: all, Objects: objects}, reconcile.Dependencies{}).targets.own
	own.kinds.start(t.Context())
	i := live.Interest{GVK: object.GVK{Version: "v1", Kind: "ConfigMap"}} // without a selector, as in observe mode
	own.kinds.watch(own.kinds.at(i.GVK, ""), i)
	if all.begun != 0 || objects.begun != 1 {
		t.Errorf("watched by the one %d times, by that for objects %d times", all.begun, objects.begun)
	}
}
