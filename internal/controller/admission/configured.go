// Package admission answers: which mutating admission does this cluster have?
//
// In: an object that truce applied.
// Out: the webhooks and policies whose configuration matches it.
// Promise: the configurations are read only when a question comes, and at most once in half a minute; a failed read is an error.
// Not here: what a configuration matches (mutation).
package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/object"
)

// fresh is how long what was read is used again. Who watches the configurations calls Forget.
const fresh = 30 * time.Second

// Reader reads the configurations when they are needed. It may be used concurrently.
type Reader struct {
	Cluster *cluster.Client
	Live    live.Reader
	// Whole says that objects are asked about as the server has them, see mutation.Subject.
	Whole bool

	mu   sync.Mutex
	read []object.Object
	at   time.Time
}

// Mutators returns the webhooks and policies whose configuration matches an object.
func (r *Reader) Mutators(ctx context.Context, gvk object.GVK, o object.Object) ([]mutation.Mutator, error) {
	served, err := r.Cluster.Resource(gvk)
	if err != nil {
		return nil, err
	}
	all, err := r.configurations(ctx)
	if err != nil {
		return nil, err
	}
	s := mutation.Subject{Group: gvk.Group, Resource: served.GVR.Resource, Object: o, Namespaced: served.Namespaced, Whole: r.Whole}
	if served.Namespaced {
		s.Namespace, err = r.labels(ctx, o.Namespace())
	}
	return mutation.MatchingMutators(all, s), err
}

// Forget makes the next question read the configurations again.
func (r *Reader) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = time.Time{}
}

func (r *Reader) configurations(ctx context.Context) ([]object.Object, error) {
	r.mu.Lock()
	all, at := r.read, r.at
	r.mu.Unlock()
	if time.Since(at) < fresh {
		return all, nil
	}
	begun := time.Now()
	all = nil
	done := map[string]bool{}
	for _, gvk := range mutation.ConfigurationKinds() {
		if done[gvk.Kind] {
			continue
		}
		found, err := r.Live.List(ctx, live.Interest{GVK: gvk})
		if errors.Is(err, live.ErrUnknownKind) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", gvk.Kind, err)
		}
		done[gvk.Kind] = true
		all = append(all, found...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read, r.at = all, begun
	return all, nil
}

// labels are those of a namespace, by which webhooks and policies choose.
func (r *Reader) labels(ctx context.Context, namespace string) (map[string]string, error) {
	gvk := object.GVK{Version: "v1", Kind: "Namespace"}
	o, err := r.Live.Get(ctx, gvk, object.ID{Kind: gvk.Kind, Name: namespace})
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", namespace, err)
	}
	return o.Labels(), nil
}
