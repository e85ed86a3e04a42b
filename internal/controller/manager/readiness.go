package manager

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Watches keeps a list of the watches of custom resources and claimants, by which the controller knows what there is to do: those without a
// selector, until they end. It is ready when all of them have seen their first list. The objects of apps are watched by Watcher itself: one
// app's kind that cannot be listed is reported on that app.
type Watches struct {
	live.Watcher

	mu      sync.Mutex
	watches map[*runningWatch]bool
}

// runningWatch is a watch, and what it is about.
type runningWatch struct {
	live.Watch
	interest live.Interest
}

// Watch implements live.Watcher.
func (w *Watches) Watch(ctx context.Context, i live.Interest, handle func(live.Event)) live.Watch {
	begun := w.Watcher.Watch(ctx, i, handle)
	if i.Selector != "" || i.Name != "" {
		return begun
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watches == nil {
		w.watches = map[*runningWatch]bool{}
	}
	r := &runningWatch{begun, i}
	w.watches[r] = true
	context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.watches, r)
	})
	return begun
}

func (w *Watches) ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun() {
		return errors.New("not begun: waiting for the claimants")
	}
	for r := range w.watches {
		select {
		case <-r.Synced():
		default:
			err := r.Err()
			if errors.Is(err, live.ErrUnknownKind) || apierrors.IsForbidden(err) && !isConfiguration(r.interest.GVK) {
				continue // a dialect that is not installed here; CRDs and claimants that are not for a truce of some namespaces
			}
			return fmt.Errorf("%s not listed yet: %w", r.interest.GVK, orPending(err))
		}
	}
	return nil
}

// begun reports whether the apps are watched, which comes last. The caller holds mu.
func (w *Watches) begun() bool {
	for r := range w.watches {
		if registry.AppDialects()[r.interest.GVK] != nil {
			return true
		}
	}
	return false
}

// isConfiguration reports whether a kind is one of those that configure truce.
func isConfiguration(gvk object.GVK) bool {
	return registry.AppDialects()[gvk] != nil || registry.Sources()[gvk] != nil
}

func orPending(err error) error {
	if err == nil {
		return errors.New("pending")
	}
	return err
}
