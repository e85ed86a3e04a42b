// Package watch answers: what has just changed?
//
// In: an interest, and a handler.
// Out: one Event for each change, also for those that happened while the connection was away.
// Promise: objects are reduced on arrival and not kept: only their names are, to tell which are gone after a new list.
// Not here: reading on request (list), what a change means (reconcile).
package watch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Watcher watches through one cluster connection.
type Watcher struct {
	Cluster *cluster.Client
}

var _ live.Watcher = Watcher{}

// Watch starts a watch that goes on until ctx ends.
func (w Watcher) Watch(ctx context.Context, i live.Interest, handle func(live.Event)) live.Watch {
	s := &store{interest: i, handle: handle, known: map[object.ID]string{}, synced: make(chan struct{})}
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.LabelSelector = i.Selector
			list, err := w.list(ctx, i, o)
			s.failed(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (apiwatch.Interface, error) {
			o.LabelSelector = i.Selector
			events, err := w.watch(ctx, i, o)
			s.failed(err)
			return events, err
		},
	}
	r := cache.NewReflectorWithOptions(lw, nil, s, cache.ReflectorOptions{Name: "truce", TypeDescription: i.GVK.String()})
	go r.RunWithContext(ctx)
	return s
}

func (w Watcher) list(ctx context.Context, i live.Interest, o metav1.ListOptions) (runtime.Object, error) {
	res, err := w.resource(i.GVK)
	if err != nil {
		return nil, err
	}
	if i.Depth == live.Metadata {
		return w.Cluster.Metadata().Resource(res.GVR).List(ctx, o)
	}
	return w.Cluster.Dynamic().Resource(res.GVR).List(ctx, o)
}

func (w Watcher) watch(ctx context.Context, i live.Interest, o metav1.ListOptions) (apiwatch.Interface, error) {
	res, err := w.resource(i.GVK)
	if err != nil {
		return nil, err
	}
	if i.Depth == live.Metadata {
		return w.Cluster.Metadata().Resource(res.GVR).Watch(ctx, o)
	}
	return w.Cluster.Dynamic().Resource(res.GVR).Watch(ctx, o)
}

func (w Watcher) resource(gvk object.GVK) (cluster.Resource, error) {
	res, err := w.Cluster.Resource(gvk)
	if errors.Is(err, cluster.ErrUnknownKind) {
		return res, fmt.Errorf("%s: %w", gvk, live.ErrUnknownKind)
	}
	return res, err
}

// store takes what the reflector brings and hands it on as events.
type store struct {
	interest live.Interest
	handle   func(live.Event)
	once     sync.Once
	synced   chan struct{}

	mu    sync.Mutex
	known map[object.ID]string // uid by name: enough for a Gone event after a new list
	err   error
}

var (
	_ live.Watch              = (*store)(nil)
	_ cache.TransformingStore = (*store)(nil)
)

// Synced is closed after the first list.
func (s *store) Synced() <-chan struct{} { return s.synced }

// Err returns the newest error.
func (s *store) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *store) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Transformer lets the reflector reduce a list while it arrives.
func (s *store) Transformer() cache.TransformFunc { return s.reduce }

// Add hands on a new object.
func (s *store) Add(obj any) error { return s.changed(obj) }

// Update hands on a changed object.
func (s *store) Update(obj any) error { return s.changed(obj) }

func (s *store) changed(obj any) error {
	o, err := s.reduced(obj)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.known[o.ID()] = o.UID()
	s.mu.Unlock()
	s.handle(live.Event{GVK: s.interest.GVK, ID: o.ID(), Object: o, Depth: s.interest.Depth})
	return nil
}

// Delete hands on that an object left the watch.
func (s *store) Delete(obj any) error {
	if tomb, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tomb.Obj
	}
	o, err := s.reduced(obj)
	if err != nil {
		return err
	}
	s.gone(o)
	return nil
}

func (s *store) gone(o object.Object) {
	s.mu.Lock()
	delete(s.known, o.ID())
	s.mu.Unlock()
	s.handle(live.Event{GVK: s.interest.GVK, ID: o.ID(), Gone: true, Object: o, Depth: s.interest.Depth})
}

// Replace hands on a whole list: what is in it, and what no longer is.
func (s *store) Replace(list []any, _ string) error {
	here := make(map[object.ID]bool, len(list))
	for _, obj := range list {
		o, err := s.reduced(obj)
		if err != nil {
			return err
		}
		here[o.ID()] = true
		if err := s.changed(obj); err != nil {
			return err
		}
	}
	for _, o := range s.missing(here) {
		s.gone(o)
	}
	s.once.Do(func() { close(s.synced) })
	return nil
}

func (s *store) missing(here map[object.ID]bool) []object.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []object.Object
	for id, uid := range s.known {
		if !here[id] {
			out = append(out, s.stub(id, uid))
		}
	}
	return out
}

// Resync does nothing: the store keeps no objects to send again.
func (s *store) Resync() error { return nil }
