package sandbox

import (
	"context"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// group is a set of parts that run together and are stopped together.
type group struct {
	// name is for the log.
	name   string
	ctx    context.Context
	cancel context.CancelFunc
	parts  sync.WaitGroup
	// failed takes the first error of a part; the others follow from it.
	failed chan error
}

func newGroup(ctx context.Context, name string) *group {
	g := &group{name: name, failed: make(chan error, 1)}
	g.ctx, g.cancel = context.WithCancel(ctx)
	return g
}

func (g *group) run(part func(context.Context) error) {
	g.parts.Go(func() {
		if err := part(g.ctx); err != nil {
			select {
			case g.failed <- err:
			default:
			}
		}
	})
}

// stop ends the parts and waits for them, but not longer than the limit: what
// hangs then is ended with the process.
func (g *group) stop(limit time.Duration) {
	g.cancel()
	done := make(chan struct{})
	go func() {
		g.parts.Wait()
		close(done)
	}()
	began := time.Now()
	select {
	case <-done:
		klog.InfoS("Stopped", "parts", g.name, "took", time.Since(began))
	case <-time.After(limit):
		klog.InfoS("Still stopping, not waited for", "parts", g.name, "took", limit)
	}
}
