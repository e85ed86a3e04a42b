package controller

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// A key that takes longer than slow most likely waits for a server: a git server that does not answer, a CRD that is never
// established. It is worked on further, but no longer counts, so that no other key waits for it; up to mostSlow times as many do not count.
const (
	slow     = 2 * time.Second
	mostSlow = 16
)

// startWorkersWithSlowLane is work for keys that may have to wait: n are worked on at once, besides those that have shown to be slow.
func startWorkersWithSlowLane[K comparable](ctx context.Context, g *errgroup.Group, q *queue[K], n int, do func(context.Context, K) time.Duration) {
	quick, all := make(chan struct{}, n), make(chan struct{}, n*mostSlow)
	g.Go(func() error {
		<-ctx.Done()
		q.ShutDown()
		return nil
	})
	g.Go(func() error {
		for {
			all <- struct{}{}
			quick <- struct{}{}
			key, down := q.Get()
			if down {
				return nil
			}
			g.Go(func() error {
				makeRoom := sync.OnceFunc(func() { <-quick })
				timer := time.AfterFunc(slow, makeRoom)
				if again := do(ctx, key); again > 0 {
					q.AddAfter(key, again)
				}
				q.Done(key)
				timer.Stop()
				makeRoom()
				<-all
				return nil
			})
		}
	})
}
