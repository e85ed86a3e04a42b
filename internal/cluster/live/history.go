package live

import (
	"context"
	"errors"
	"sync"
)

// errWentBack is why an era has ended.
var errWentBack = errors.New("the API server's data has gone back to an older state, as after a restored backup: all is listed again")

// History counts how often the data of one API server was found to have gone back to an older state, as an etcd restored from a backup has.
// resourceVersions of one kind only ever grow otherwise (KEP-5504). An era is the time between two such events: what was learnt in one era says
// nothing in the next. The zero value is ready for use; it may be used concurrently.
type History struct {
	mu    sync.Mutex
	era   int
	goes  context.Context         // until the era ends
	end   context.CancelCauseFunc // ends it
	hooks []func()
}

// Era returns the number of the present era. It waits while the hooks of WentBack run.
func (h *History) Era() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.era
}

// OnWentBack has a function called whenever the data has gone back, before anything of the next era is handed on. It must neither block
// nor call the History.
func (h *History) OnWentBack(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks = append(h.hooks, f)
}

// WentBack ends the era in which the server answered with an older resourceVersion than it had answered before. That it has ended already
// is fine.
func (h *History) WentBack(era int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.era != era {
		return
	}
	for _, f := range h.hooks {
		f()
	}
	if h.era++; h.end != nil {
		h.end(errWentBack)
		h.goes, h.end = nil, nil
	}
}

// Within returns a context that ends with the era, with Err's error as its cause.
func (h *History) Within(ctx context.Context, era int) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.era != era {
		cancel(errWentBack)
		return ctx, func() {}
	}
	if h.end == nil {
		h.goes, h.end = context.WithCancelCause(context.Background())
	}
	stop := context.AfterFunc(h.goes, func() { cancel(errWentBack) })
	return ctx, func() { stop(); cancel(nil) }
}

// Err says that an era has ended, nil while it goes on.
func (h *History) Err(era int) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.era != era {
		return errWentBack
	}
	return nil
}
