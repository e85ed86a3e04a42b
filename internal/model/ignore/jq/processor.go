package jq

import (
	"context"
	"time"
)

// lookEvery is how often the time of an expression is looked at.
const lookEvery = 20 * time.Millisecond

// withProcessorTime returns a context that is cancelled when this process has run on a processor for d since, and d has passed: an expression that computes is
// ended, and one that waits for a processor goes on.
func withProcessorTime(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	begin, used := time.Now(), processorTime()
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if time.Since(begin) >= d && processorTime()-used >= d {
					cancel()
				}
			}
		}
	}()
	return ctx, cancel
}
