package compose

import (
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryIsGivenBackOnceForEachBurst has no tick at rest: nothing happens in the hours between.
func TestMemoryIsGivenBackOnceForEachBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allocated, given atomic.Uint64
		c := &calm{allocated: allocated.Load, free: func() { given.Add(1) }}
		pass := func(d time.Duration, want uint64, when string) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if n := given.Load(); n != want {
				t.Fatalf("%s: given back %d times, want %d", when, n, want)
			}
		}
		for range 10 {
			allocated.Add(calmWorth)
			c.stir()
			pass(calmPause/2, 0, "while it goes on")
		}
		pass(calmPause, 1, "after it")
		pass(24*time.Hour, 1, "a day later")
		allocated.Add(calmWorth / 2)
		c.stir()
		pass(time.Hour, 1, "after a little")
		allocated.Add(calmWorth / 2)
		c.stir()
		pass(time.Hour, 2, "after a little more")
		allocated.Add(calmWorth)
		c.stir()
		c.stop()
		pass(time.Hour, 2, "after the end")
	})
}

func TestTheHeapIsSweptOftenUnlessGOGCSaysOtherwise(t *testing.T) {
	was := debug.SetGCPercent(300)
	defer debug.SetGCPercent(was)
	t.Setenv("GOGC", "300")
	sweepOften()
	if got := debug.SetGCPercent(300); got != 300 {
		t.Errorf("%d %% in spite of GOGC", got)
	}
	t.Setenv("GOGC", "")
	sweepOften()
	if got := debug.SetGCPercent(300); got != heapGrowth {
		t.Errorf("%d %%", got)
	}
}
