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

// Watches keeps a list of the watches without a selector: those of custom resources and claimants, by which the controller
// knows what there is to do. It is ready when all of them have seen their first list.
type Watches struct {
	live.Watcher

	mu      sync.Mutex
	watches map[live.Interest]live.Watch
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
		w.watches = map[live.Interest]live.Watch{}
	}
	w.watches[i] = begun
	return begun
}

func (w *Watches) ready() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.begun() {
		return errors.New("not begun: waiting for the claimants")
	}
	for i, begun := range w.watches {
		select {
		case <-begun.Synced():
		default:
			if errors.Is(begun.Err(), live.ErrUnknownKind) || apierrors.IsForbidden(begun.Err()) && !isConfiguration(i.GVK) {
				continue // a dialect that is not installed here; CRDs and claimants that are not for a truce of some namespaces
			}
			return fmt.Errorf("%s not listed yet: %w", i.GVK, orPending(begun.Err()))
		}
	}
	return nil
}

// begun reports whether the apps are watched, which comes last. The caller holds mu.
func (w *Watches) begun() bool {
	for i := range w.watches {
		if registry.AppDialects()[i.GVK] != nil {
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
