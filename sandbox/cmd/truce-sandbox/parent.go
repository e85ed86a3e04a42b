package main

import (
	"context"
	"os"
	"time"
)

// parentCheck is how soon the end of the parent is noticed.
const parentCheck = 200 * time.Millisecond

// withParent returns a context that ends with the parent process. It asks for
// the parent's id again and again: Linux' PR_SET_PDEATHSIG reports the end of
// the thread that started us, and in a Go program a thread may end long before
// the process; and it is Linux only.
func withParent(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		defer cancel()
		tick := time.NewTicker(parentCheck)
		defer tick.Stop()
		for os.Getppid() == parent {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return ctx
}
