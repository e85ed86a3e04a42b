package controller

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// listed is a watch that has its first list.
type listed struct {
	mu      sync.Mutex
	err     error
	changed chan struct{}
}

func (l *listed) Watch(context.Context, live.Interest, func(live.Event)) live.Watch { return l }

func (l *listed) Synced() <-chan struct{} {
	synced := make(chan struct{})
	close(synced)
	return synced
}

func (l *listed) Err() error              { return nil }
func (l *listed) Failed() <-chan struct{} { return nil }

func (l *listed) Refused() (changed <-chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.changed, l.err
}

// refuse is that the server begins to refuse the watch, or ends to: nil.
func (l *listed) refuse(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// ignored takes what the watches bring, and does nothing.
type ignored struct{}

func (ignored) OnEvent(live.Event)     {}
func (ignored) OnRelist(live.Interest) {}

// permissions is a kindListener that passes on what may be watched from now on, or no more.
type permissions chan watchKey

func (permissions) onWatchBegun(watchKey)            {}
func (permissions) onWatchesChanged()                {}
func (p permissions) onPermissionChanged(w watchKey) { p <- w }

// TestAWatchThatIsRefusedAfterItsListIsReported: the role has the verb list, and not watch.
func TestAWatchThatIsRefusedAfterItsListIsReported(t *testing.T) {
	synctest.Test(t, reportRefusedWatch)
}

func reportRefusedWatch(t *testing.T) {
	i := live.Interest{GVK: object.GVK{Version: "v1", Kind: "ConfigMap"}, Selector: "ours"}
	w, changed := &listed{}, make(permissions, 10)
	k := newKinds(w, &answering{}, changed)
	k.objects = ignored{}
	k.start(t.Context())
	if err := k.Ensure(t.Context(), i); err != nil {
		t.Fatal(err)
	}
	for _, refused := range []bool{true, false, true} {
		var why error
		if refused {
			why = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no"))
		}
		w.refuse(why)
		synctest.Wait()
		if len(changed) != 1 {
			t.Fatalf("refused %t: reported %d times", refused, len(changed))
		}
		if got := <-changed; got.gvk != i.GVK {
			t.Errorf("reported of %s", got.gvk)
		}
		if err := k.Ensure(t.Context(), i); errors.Is(err, live.ErrRefused) != refused {
			t.Errorf("refused %t: %v", refused, err)
		}
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
