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
	ctx     context.Context        // of the run: a watch outlives the app that first needed it

	mu      sync.Mutex
	watches map[object.GVK]live.Watch
}

var _ reconcile.Watches = (*kinds)(nil)

func newKinds(w live.Watcher, served func(object.GVK) error) *kinds {
	return &kinds{watcher: w, served: served, watches: map[object.GVK]live.Watch{}}
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
		w = k.watcher.Watch(k.ctx, live.Interest{GVK: gvk, Selector: desired.PartOf, Depth: live.DepthOf(gvk)}, k.handle)
		k.watches[gvk] = w
	}
	return w
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
