package controller

import (
	"context"
	"fmt"
	"sync"

	"github.com/truce-gitops/truce/internal/desired"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// kinds keeps one watch for each kind and version in use, under our label.
type kinds struct {
	watcher live.Watcher
	handle  func(live.Event)
	served  func(object.GVK) error // live.ErrUnknownKind for a kind that the server does not know
	began   func(object.GVK)       // told of each kind that comes under watch
	ctx     context.Context        // of the run: a watch outlives the app that first needed it

	mu      sync.Mutex
	watches map[object.GVK]watching
}

// watching is a watch that can be ended.
type watching struct {
	live.Watch
	end context.CancelFunc
}

var _ reconcile.Watches = (*kinds)(nil)

func newKinds(w live.Watcher, served func(object.GVK) error) *kinds {
	return &kinds{watcher: w, served: served, began: func(object.GVK) {}, watches: map[object.GVK]watching{}}
}

func (k *kinds) start(ctx context.Context) { k.ctx = ctx }

// Ensure starts the kind's watch if there is none, and waits for its first list.
func (k *kinds) Ensure(ctx context.Context, gvk object.GVK) error {
	if err := k.served(gvk); err != nil {
		return err
	}
	w := k.watch(gvk)
	select {
	case <-w.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ctx.Err(), w.Err())
	}
}

func (k *kinds) watch(gvk object.GVK) live.Watch {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, ok := k.watches[gvk]
	if !ok {
		ctx, end := context.WithCancel(k.ctx)
		w = watching{k.watcher.Watch(ctx, interestIn(gvk), k.handle), end}
		k.watches[gvk] = w
		k.began(gvk)
	}
	return w
}

func interestIn(gvk object.GVK) live.Interest {
	return live.Interest{GVK: gvk, Selector: desired.PartOf, Depth: live.DepthOf(gvk)}
}

// retire ends the watch of a kind that is not used, and reports whether there is none.
func (k *kinds) retire(gvk object.GVK, used func() bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	w, ok := k.watches[gvk]
	if !ok || used() {
		return !ok
	}
	w.end()
	delete(k.watches, gvk)
	return true
}

// Synced reports whether the kind's first list has been handed over.
func (k *kinds) Synced(gvk object.GVK) bool {
	k.mu.Lock()
	w, ok := k.watches[gvk]
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
