package live

import (
	"context"
	"errors"
	"sync"
)

// errWentBack is why an era has ended.
var errWentBack = errors.New("the API server's data has gone back to an older state, as after a restored backup: all is listed again")

// History is how often the data of one API server was found to have gone back to an older state, as an etcd restored from a backup has.
// resourceVersions of one kind only ever grow otherwise (KEP-5504). The zero value is ready for use; it may be used concurrently.
type History struct {
	mu    sync.Mutex
	era   *Era
	hooks []func()
}

// Era is the time in which the server's data does not go back. What was learnt in one era says nothing in the next.
type Era struct {
	ctx context.Context
	end context.CancelCauseFunc
}

func newEra() *Era {
	ctx, end := context.WithCancelCause(context.Background())
	return &Era{ctx, end}
}

// Era returns the present era. It waits while the hooks of WentBack run.
func (h *History) Era() *Era {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.era == nil {
		h.era = newEra()
	}
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
func (h *History) WentBack(era *Era) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.era != era {
		return
	}
	h.era = newEra()
	for _, f := range h.hooks {
		f()
	}
	era.end(errWentBack)
}

// Within returns a context that ends with the era; its cause is then Err's.
func (e *Era) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.ctx, func() { cancel(context.Cause(e.ctx)) })
	return ctx, func() { stop(); cancel(nil) }
}

// Err says that the era has ended, nil while it goes on.
func (e *Era) Err() error { return context.Cause(e.ctx) }
