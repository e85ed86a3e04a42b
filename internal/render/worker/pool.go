// Package worker answers: how is a build kept from harming or outliving anything but itself?
//
// In: render requests, and the command that starts a worker process.
// Out: their results, built in processes that hold no file, no network and no environment of ours.
// Promise: a build that crashes, hangs, grows or changes process-wide state takes only its own worker along, which is
// replaced; a worker does not outlive its pool.
// Not here: what a build is (kustomize, plain), the cache (render.Cached).
package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/keys"
)

// maxFrame bounds one message. A file is bounded by Limits.FileBytes, a result by Limits.Memory before this.
const maxFrame = 1 << 30

// maxResident is the memory, in bytes, with which a worker is not kept at most: it would count against the next build.
const maxResident = 384 << 20

// isFat reports whether a worker uses so much that it is not kept.
func (p *Pool) isFat(w *worker) bool {
	most := int64(maxResident)
	if p.options.Memory > 0 {
		most = min(most, p.options.Memory/2)
	}
	return resident(w.cmd.Process.Pid) > most
}

// within are the limits, with no more memory than the pool gives.
func (p *Pool) within(l render.Limits) render.Limits {
	l = l.OrDefault()
	if p.options.Memory > 0 {
		l.Memory = min(l.Memory, p.options.Memory)
	}
	return l
}

// Command is the argument by which the program starts itself as a worker.
const Command = "render-worker"

// Options say how workers are started.
type Options struct {
	// Executable is the program; it must call Main. Required.
	Executable string
	// Args are its arguments.
	Args []string
	// Size is how many builds run at a time, each in its own process; 0 means GOMAXPROCS.
	Size int
	// Memory is how much one worker may use, in bytes, where a build's limits allow more; 0 means what they allow.
	Memory int64
	// Garbage is how far a worker's heap may grow before it is swept, in percent of what lives in it (GOGC): more is faster, and takes
	// more memory; 0 means Go's default.
	Garbage int
	// Patience is how long a build waits for a worker that another build holds, before one more is started: most builds take less than the
	// start of a process. 0 does not wait.
	Patience time.Duration
	// After runs a function later, unless it is stopped before; nil means time.AfterFunc.
	After func(d time.Duration, f func()) (stop func() bool)
	Idle  Idle // may be nil
	// KeyService decrypts the data keys that a build cannot decrypt by itself; nil for none.
	KeyService keys.Service
}

// Idle is what a process does when nothing is built.
type Idle interface {
	// Release is called when the workers have been ended because nothing was built for a while.
	Release()
}

// idleTime is how long a worker is kept warm after the newest build: one takes some 60 MiB, and a tenth of a second to start.
const idleTime = 30 * time.Second

// Pool renders in worker processes. Processes are started when they are needed, kept warm for a while, and ended.
type Pool struct {
	options Options
	slots   chan struct{} // as many as builds may run
	freed   chan struct{} // a build has ended since

	mu     sync.Mutex
	closed bool
	warm   []*worker // the one that built last is taken first
	builds int       // so far
	stop   func() bool
}

// ErrClosed is the cause of errors after Close.
var ErrClosed = errors.New("pool is closed")

// NewPool makes a pool. Close ends it.
func NewPool(o Options) *Pool {
	if o.Size <= 0 {
		o.Size = runtime.GOMAXPROCS(0)
	}
	if o.After == nil {
		o.After = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return &Pool{options: o, slots: make(chan struct{}, o.Size), freed: make(chan struct{}, o.Size), stop: func() bool { return true }}
}

// UseKeyService sets what decrypts the data keys that a build cannot decrypt by itself; nil for none. It is called before the first build.
func (p *Pool) UseKeyService(s keys.Service) { p.options.KeyService = s }

// Render implements render.Renderer: it waits for a free worker, then for the build. The end of ctx kills the build.
func (p *Pool) Render(ctx context.Context, r render.Request) (render.Result, error) {
	w, err := p.take(ctx)
	if err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	r.Limits = p.within(r.Limits)
	res, reusable, err := w.build(ctx, r)
	if !reusable || p.isFat(w) {
		w.kill()
		w = nil
	}
	p.give(w)
	return res, err
}

// take gives a live worker, starting one if need be.
func (p *Pool) take(ctx context.Context) (*worker, error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	w, err := p.ready(ctx)
	if err != nil {
		<-p.slots
		return nil, err
	}
	return w, nil
}

func (p *Pool) ready(ctx context.Context) (*worker, error) {
	patience, cancel := context.WithTimeout(ctx, p.options.Patience)
	defer cancel()
	for {
		w, closed := p.pop()
		switch {
		case closed:
			return nil, ErrClosed
		case w != nil && w.alive():
			return w, nil
		case w != nil:
			w.kill() // it has died by itself; this frees what belongs to it
		case patience.Err() == nil && len(p.slots) > 1:
			select {
			case <-p.freed:
			case <-patience.Done():
			}
		default:
			w, err := startWorker(p.options)
			if err != nil {
				return nil, fmt.Errorf("start worker: %w", err)
			}
			return w, nil
		}
	}
}

func (p *Pool) pop() (w *worker, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop()
	p.builds++
	if n := len(p.warm); n > 0 {
		w, p.warm = p.warm[n-1], p.warm[:n-1]
	}
	return w, p.closed
}

// give keeps a worker for the next build; nil for one that has ended.
func (p *Pool) give(w *worker) {
	p.mu.Lock()
	if w != nil && !p.closed {
		p.warm = append(p.warm, w)
		w = nil
	}
	builds := p.builds
	p.stop()
	p.stop = p.options.After(idleTime, func() { p.cool(builds) })
	p.mu.Unlock()
	if w != nil {
		w.kill()
	}
	<-p.slots
	select {
	case p.freed <- struct{}{}:
	default: // as many builds as may run will look already
	}
}

// cool ends the warm workers, unless another build has begun since there were so many.
func (p *Pool) cool(builds int) {
	p.mu.Lock()
	if p.builds != builds {
		p.mu.Unlock()
		return
	}
	all := p.warm
	p.warm = nil
	p.mu.Unlock()
	for _, w := range all {
		w.kill()
	}
	if p.options.Idle != nil {
		p.options.Idle.Release()
	}
}

// Close ends all workers and returns when running builds have returned; new ones get ErrClosed.
func (p *Pool) Close() {
	p.mu.Lock()
	closed := p.closed
	p.closed = true
	p.mu.Unlock()
	if closed {
		return
	}
	for range p.options.Size { // builds hold the slots
		p.slots <- struct{}{}
	}
	for range p.options.Size {
		<-p.slots
	}
	p.mu.Lock()
	all := p.warm
	p.warm = nil
	p.stop()
	p.mu.Unlock()
	for _, w := range all {
		w.kill()
	}
}

var _ render.Renderer = (*Pool)(nil)
