package memory

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// releaseAfter is a little longer than render workers are kept warm, and files in memory.
	releaseAfter = 35 * time.Second
	// releaseFrom is how many bytes must have been allocated since the last release to make another one worth its cost.
	releaseFrom = 16 << 20
)

// heapGrowth is how far the heap may grow before it is collected, in percent of the live heap (GOGC). Less than half of Go's own: a first rollout of 1,000 apps
// takes a tenth less memory at its peak and a tenth more CPU time (docs/benchmarks.md), and a burst leaves less in holes.
const heapGrowth = 40

// LimitHeapGrowth sets how far the heap of this process may grow before it is collected, unless GOGC is set.
func LimitHeapGrowth() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}

// Releaser gives memory back to the machine after a burst of work: a start or a rollout. The runtime does so only while it works; an idle
// process would keep the memory. Each burst costs one garbage collection, and an idle process none.
type Releaser struct {
	heap heap

	mu     sync.Mutex
	timer  *time.Timer
	before uint64 // allocated, when memory was given back last
}

// NewReleaser returns a Releaser of this process.
func NewReleaser() *Releaser { return &Releaser{heap: processHeap{}} }

// heap is the memory that a Releaser watches.
type heap interface {
	allocated() uint64 // bytes since the process started
	free()
}

// processHeap is the heap of this process.
type processHeap struct{}

func (processHeap) free() { debug.FreeOSMemory() }

// allocated does not stop the other goroutines, as runtime.ReadMemStats would.
func (processHeap) allocated() uint64 {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64()
}

// Busy postpones the next release: call it whenever work was done.
func (c *Releaser) Busy() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		c.timer = time.AfterFunc(releaseAfter, c.Release)
		return
	}
	c.timer.Reset(releaseAfter)
}

// Release gives free memory back to the machine, unless less than releaseFrom was allocated since the last time.
func (c *Releaser) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heap.allocated()-c.before < releaseFrom {
		return
	}
	c.heap.free()
	c.before = c.heap.allocated()
}

// Stop ends the Releaser: no memory is given back after it.
func (c *Releaser) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}
