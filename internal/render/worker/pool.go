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

	"github.com/truce-gitops/truce/internal/render"
)

// maxFrame bounds one message. A file is bounded by Limits.FileBytes, a result by Limits.Memory before this.
const maxFrame = 1 << 30

// fat is the memory, in bytes, with which a worker is not kept: it would count against the next build.
const fat = 384 << 20

// Options say how workers are started.
type Options struct {
	// Executable is the program; it must call Main. Required.
	Executable string
	// Args are its arguments.
	Args []string
	// Size is how many builds run at a time, each in its own process; 0 means GOMAXPROCS.
	Size int
}

// Pool renders in worker processes. Processes are started when they are first needed and kept warm.
type Pool struct {
	options Options
	// free holds as many tokens as builds may run; a token is an idle worker or nil.
	free chan *worker

	mu     sync.Mutex
	closed bool
}

// ErrClosed is the cause of errors after Close.
var ErrClosed = errors.New("pool is closed")

// NewPool makes a pool. Close ends it.
func NewPool(o Options) *Pool {
	if o.Size <= 0 {
		o.Size = runtime.GOMAXPROCS(0)
	}
	p := &Pool{options: o, free: make(chan *worker, o.Size)}
	for range o.Size {
		p.free <- nil
	}
	return p
}

// Render implements render.Renderer: it waits for a free worker, then for the build. The end of ctx kills the build.
func (p *Pool) Render(ctx context.Context, r render.Request) (render.Result, error) {
	w, err := p.take(ctx)
	if err != nil {
		return render.Result{}, fmt.Errorf("render %s: %w", r.Path, err)
	}
	res, reusable, err := w.build(ctx, r)
	if !reusable || resident(w.cmd.Process.Pid) > fat {
		w.kill()
		w = nil
	}
	p.give(w)
	return res, err
}

// take gives a live worker, starting one if need be.
func (p *Pool) take(ctx context.Context) (*worker, error) {
	var w *worker
	select {
	case w = <-p.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if p.isClosed() {
		p.give(w)
		return nil, ErrClosed
	}
	if w != nil && w.alive() {
		return w, nil
	}
	if w != nil {
		w.kill()
	}
	w, err := start(p.options)
	if err != nil {
		p.give(nil)
		return nil, fmt.Errorf("start worker: %w", err)
	}
	return w, nil
}

func (p *Pool) give(w *worker) {
	if w != nil && p.isClosed() {
		w.kill()
		w = nil
	}
	p.free <- w
}

func (p *Pool) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
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
	for range p.options.Size {
		if w := <-p.free; w != nil {
			w.kill()
		}
	}
	for range p.options.Size {
		p.free <- nil
	}
}

var _ render.Renderer = (*Pool)(nil)
