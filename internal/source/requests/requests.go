// Package requests answers: what does a fetcher know of a request that is made again and again?
//
// In: a source.Spec, and how an entry for it is made.
// Out: the one entry of that request, until it was not asked for so long.
// Promise: it may be asked concurrently; a request whose entry cannot be made has none.
// Not here: what an entry holds, and who may look at it when (source/oci, source/bucket, source/chart).
package requests

import (
	"maps"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/source"
)

// Table holds what a fetcher knows of each request. Its zero value holds none.
type Table[T any] struct {
	mu    sync.Mutex
	known map[source.Spec]*request[T]
}

type request[T any] struct {
	entry T
	used  time.Time
}

// Of returns the one entry of a request. For a new one begin makes it.
func (r *Table[T]) Of(spec source.Spec, begin func() (T, error)) (T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.known[spec]
	if found == nil {
		entry, err := begin()
		if err != nil {
			return entry, err
		}
		if r.known == nil {
			r.known = map[source.Spec]*request[T]{}
		}
		found = &request[T]{entry: entry}
		r.known[spec] = found
	}
	found.used = time.Now()
	return found.entry, nil
}

// Retain forgets requests that were not made for so long. The files are removed by their store.
func (r *Table[T]) Retain(idle time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.known, func(_ source.Spec, x *request[T]) bool { return time.Since(x.used) >= idle })
}
