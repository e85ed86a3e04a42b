package render_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/render"
)

// gate is a renderer whose first build waits until it is let through.
type gate struct {
	render.Renderer
	builds  atomic.Int64
	began   chan struct{}
	through chan struct{}
}

func (g *gate) Render(ctx context.Context, r render.Request) (render.Result, error) {
	if g.builds.Add(1) == 1 {
		close(g.began)
		select {
		case <-g.through:
		case <-ctx.Done():
			return render.Result{}, ctx.Err()
		}
	}
	return g.Renderer.Render(ctx, r)
}

func newGate() (*gate, *render.Cached) {
	c := newCached()
	g := &gate{Renderer: c.Renderer, began: make(chan struct{}), through: make(chan struct{})}
	c.Renderer = g
	return g, c
}

func TestWhatSeveralAskForAtOnceIsBuiltOnce(t *testing.T) {
	g, c := newGate()
	tree := newTree(apps(1))
	var wg sync.WaitGroup
	var built atomic.Int64
	for range 8 {
		wg.Go(func() {
			res, err := c.Render(t.Context(), render.Request{Files: tree, Path: "apps/0"})
			if err != nil || len(res.Objects) != 2 {
				t.Errorf("got %d objects, %v", len(res.Objects), err)
			}
			if res.Rendered {
				built.Add(1)
			}
		})
	}
	<-g.began
	close(g.through)
	wg.Wait()
	if g.builds.Load() != 1 || built.Load() != 1 {
		t.Errorf("built %d times, and said so %d times", g.builds.Load(), built.Load())
	}
}

func TestAWaiterBuildsWhatTheFirstHasGivenUp(t *testing.T) {
	g, c := newGate()
	tree := newTree(apps(1))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.Render(ctx, render.Request{Files: tree, Path: "apps/0"}); err == nil {
			t.Error("the first was to be given up")
		}
	})
	<-g.began
	wg.Go(func() {
		if _, err := c.Render(t.Context(), render.Request{Files: tree, Path: "apps/0"}); err != nil {
			t.Error(err)
		}
	})
	cancel()
	wg.Wait()
}

func TestOneThatWaitsForAnothersBuildMayLeave(t *testing.T) {
	g, c := newGate()
	tree := newTree(apps(1))
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := c.Render(t.Context(), render.Request{Files: tree, Path: "apps/0"}); err != nil {
			t.Error(err)
		}
	})
	<-g.began
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Render(ctx, render.Request{Files: tree, Path: "apps/0"}); err == nil {
		t.Error("it did not leave")
	}
	close(g.through)
	wg.Wait()
}
