package memory

import (
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryIsGivenBackOnceForEachBurst has no tick at rest: nothing happens in the hours between.
// fakeHeap counts how often it was freed.
type fakeHeap struct{ bytes, freed *atomic.Uint64 }

func (h fakeHeap) allocated() uint64 { return h.bytes.Load() }
func (h fakeHeap) free()             { h.freed.Add(1) }

func TestMemoryIsGivenBackOnceForEachBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allocated, given atomic.Uint64
		c := &Releaser{heap: fakeHeap{&allocated, &given}}
		pass := func(d time.Duration, want uint64, when string) {
			t.Helper()
			<-time.After(d)
			synctest.Wait()
			if n := given.Load(); n != want {
				t.Fatalf("%s: given back %d times, want %d", when, n, want)
			}
		}
		for range 10 {
			allocated.Add(releaseFrom)
			c.Busy()
			pass(releaseAfter/2, 0, "while it goes on")
		}
		pass(releaseAfter, 1, "after it")
		pass(24*time.Hour, 1, "a day later")
		allocated.Add(releaseFrom / 2)
		c.Busy()
		pass(time.Hour, 1, "after a little")
		allocated.Add(releaseFrom / 2)
		c.Busy()
		pass(time.Hour, 2, "after a little more")
		allocated.Add(releaseFrom)
		c.Busy()
		c.Stop()
		pass(time.Hour, 2, "after the end")
	})
}

func TestTheHeapIsSweptOftenUnlessGOGCSaysOtherwise(t *testing.T) {
	was := debug.SetGCPercent(300)
	defer debug.SetGCPercent(was)
	t.Setenv("GOGC", "300")
	LimitHeapGrowth()
	if got := debug.SetGCPercent(300); got != 300 {
		t.Errorf("%d %% in spite of GOGC", got)
	}
	t.Setenv("GOGC", "")
	LimitHeapGrowth()
	if got := debug.SetGCPercent(300); got != heapGrowth {
		t.Errorf("%d %%", got)
	}
}
