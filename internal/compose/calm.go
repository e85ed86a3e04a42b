package compose

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// calmPause is a little longer than render workers are kept warm, and files in memory.
	calmPause = 35 * time.Second
	// calmWorth is for how many bytes that were allocated since the last time it is worth to sweep all: most of what a heap holds beyond
	// what lives was allocated in a burst.
	calmWorth = 16 << 20
)

// heapGrowth is how far the heap may grow before it is swept, in percent of what lives in it. Less than half of Go's own: a first rollout of 1,000 apps
// takes a tenth less memory at its peak and a tenth more CPU time (docs/benchmarks.md), and a burst leaves less in holes.
const heapGrowth = 40

// sweepOften sets heapGrowth, unless GOGC says otherwise.
func sweepOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}

// calm gives memory back to the machine when a burst of work has come to rest: a start, a rollout, and what the cluster makes of it.
// The runtime does so by and by, while it works; at rest nothing would wake it. Each burst costs one sweep, and rest costs nothing.
type calm struct {
	allocated func() uint64 // bytes, since the process began
	free      func()

	mu     sync.Mutex
	timer  *time.Timer
	before uint64 // allocated, when memory was given back last
}

func newCalm() *calm { return &calm{allocated: allocatedBytes, free: debug.FreeOSMemory} }

// allocatedBytes stops nobody, as runtime.ReadMemStats would.
func allocatedBytes() uint64 {
	all := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(all)
	return all[0].Value.Uint64()
}

// stir says that something is going on.
func (c *calm) stir() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		c.timer = time.AfterFunc(calmPause, c.rested)
		return
	}
	c.timer.Reset(calmPause)
}

// rested gives back what there is, if that is worth it.
func (c *calm) rested() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.allocated()-c.before < calmWorth {
		return
	}
	c.free()
	c.before = c.allocated()
}

// stop makes that nothing is given back any more.
func (c *calm) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}
