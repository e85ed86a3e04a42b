package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/live/watch"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/web"
	"golang.org/x/sync/errgroup"
)

// runController runs `truce controller`.
func runController(version string) func(context.Context, cli.ControllerOptions) error {
	return func(ctx context.Context, o cli.ControllerOptions) error {
		p, err := assemble(o.Target, version, filepath.Join(o.CacheDir, "git"))
		if err != nil {
			return err
		}
		if err := p.remember(o.CacheDir, o.Log); err != nil {
			return errors.Join(err, p.close())
		}
		s := newService(p, o, nil)
		return errors.Join(s.run(ctx), p.close())
	}
}

// service is a controller with its status page.
type service struct {
	controller *controller.Controller
	options    cli.ControllerOptions
	parts      *parts
	watches    *roll
	listening  net.Listener // nil until run, or for no page
	leads      atomic.Bool
}

func newService(p *parts, o cli.ControllerOptions, notice func(reconcile.Notice)) *service {
	logClient(o.Log)
	s := &service{options: o, parts: p, watches: &roll{Watcher: watch.Watcher{Cluster: p.cluster}}}
	s.controller = p.controller(RunOptions{
		LocalSources: local(o.LocalSources), Watcher: s.watches, Process: o.Process, Catalogue: o.Catalogue, Workers: controller.Workers{Apps: o.Apps, Objects: o.Objects}, Log: o.Log, Notice: notice,
	}).Controller
	return s
}

func local(allowed bool) controller.LocalSources {
	if allowed {
		return controller.AllowLocal
	}
	return controller.RefuseLocal
}

// listen opens the page's address before anything else is begun: a busy port is an error at the start.
func (s *service) listen() error {
	if s.options.Listen == "" {
		return nil
	}
	var err error
	if s.listening, err = net.Listen("tcp", s.options.Listen); err != nil {
		return fmt.Errorf("listen for the status page: %w", err)
	}
	return nil
}

func (s *service) run(ctx context.Context) error {
	if s.listening == nil {
		if err := s.listen(); err != nil {
			return err
		}
	}
	g, running := errgroup.WithContext(ctx)
	if s.listening != nil {
		g.Go(func() error {
			return serve(running, s.listening, web.Handler(s.state()))
		})
	}
	g.Go(func() error { return lead(running, s.parts.cluster, s.options, s.work) })
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // told to end before it had begun
	}
	return err
}

// work is what a controller does that leads.
func (s *service) work(ctx context.Context) error {
	s.leads.Store(true)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.publish(ctx); return nil })
	g.Go(func() error { s.tidy(ctx); return nil })
	g.Go(func() error { return s.controller.Run(ctx) })
	return g.Wait()
}

// state is what the pages show.
func (s *service) state() web.State {
	out := web.State{Reports: s.controller.Reports, Ready: s.ready}
	if s.parts.journal != nil {
		out.Journal = s.parts.journal.Read
	}
	return out
}

// How often clones are looked through, and how long one is kept that no source needs any more.
const (
	tidyEvery = time.Hour
	tidyIdle  = 24 * time.Hour
)

// tidy removes the clones of sources that are gone.
func (s *service) tidy(ctx context.Context) {
	every := time.NewTicker(tidyEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		if err := s.parts.git.Retain(s.controller.Artifacts(), tidyIdle); err != nil {
			s.options.Log.Warn("remove clones that no source needs", "error", err.Error())
		}
	}
}

// ready is an error while it is not yet known what there is to do. Who stands by for the one that leads is ready to do so.
func (s *service) ready() error {
	if s.options.Election != (cli.Election{}) && !s.leads.Load() {
		return nil
	}
	return s.watches.ready()
}

// serve answers until ctx ends.
func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns its error
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("status page: %w", err)
	}
	return nil
}

// roll keeps a list of the watches without a selector: those of custom resources and claimants, by which the controller
// knows what there is to do. It is ready when all of them have seen their first list.
type roll struct {
	live.Watcher

	mu      sync.Mutex
	watches map[string]live.Watch
}

// Watch implements live.Watcher.
func (r *roll) Watch(ctx context.Context, i live.Interest, handle func(live.Event)) live.Watch {
	w := r.Watcher.Watch(ctx, i, handle)
	if i.Selector != "" || i.Name != "" {
		return w
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watches == nil {
		r.watches = map[string]live.Watch{}
	}
	r.watches[i.GVK.String()] = w
	return w
}

func (r *roll) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for gvk := range kinds().Apps { // they are watched last
		if r.watches[gvk.String()] == nil {
			return errors.New("not begun: waiting for the claimants")
		}
	}
	for kind, w := range r.watches {
		select {
		case <-w.Synced():
		default:
			if errors.Is(w.Err(), live.ErrUnknownKind) {
				continue // a dialect that is not installed here
			}
			return fmt.Errorf("%s not listed yet: %w", kind, orPending(w.Err()))
		}
	}
	return nil
}

func orPending(err error) error {
	if err == nil {
		return errors.New("pending")
	}
	return err
}
