package compose

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"github.com/truce-gitops/truce/internal/controller/leader"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/view/exit"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/webhook"
	"github.com/truce-gitops/truce/internal/web"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// runController runs `truce controller`.
func runController(version string) func(context.Context, cli.ControllerOptions) error {
	return func(ctx context.Context, o cli.ControllerOptions) error {
		to, err := receiver(o.EventsAddress)
		if err != nil {
			return err
		}
		p, err := assembleFor(o, version, supervision{metrics: metrics.NewMetrics(version), term: o.Election.Term()})
		if err != nil {
			return err
		}
		if err := p.remember(o.CacheDir, o.Log); err != nil {
			return errors.Join(err, p.close())
		}
		s := newService(p, o, nil, to)
		return errors.Join(s.run(ctx), p.close())
	}
}

// receiver gets the messages; none where there is no address.
func receiver(address string) (notify.Sender, error) {
	if address == "" {
		return nil, nil
	}
	s, err := webhook.NewSender(address)
	if err != nil {
		return nil, exit.With(exit.Usage, fmt.Errorf("--events-addr: %w", err))
	}
	return s, nil
}

// service is a controller with its status page.
type service struct {
	controller *controller.Controller
	witness    func(context.Context) error
	options    cli.ControllerOptions
	parts      *parts
	watches    *roll
	listening  net.Listener // nil until run, or for no page
	local      net.Listener // the same where that is this machine's own, else one beside it: for commands
	measuring  net.Listener // nil as well, for probes and /metrics at an address of their own
	leads      atomic.Bool
	token      string // of the page, for commands: see publishToken
	access     *web.Access
}

func newService(p *parts, o cli.ControllerOptions, notice func(reconcile.FindingEvent), to notify.Sender) *service {
	logClient(o.Log)
	s := &service{options: o, parts: p, watches: &roll{Watcher: watch.Watcher{Cluster: p.cluster, History: p.engine.History}}, token: rand.Text()}
	s.access = web.NewAccess(s.token, review(p.cluster))
	r := p.controller(RunOptions{
		Witness: o.Witness, LocalSources: localSources(o.LocalSources), Remotes: o.Remotes, Namespaces: o.Namespaces, Watcher: s.watches, Process: o.Process, Tenancy: o.Tenancy, Catalogue: o.Catalogue, Workers: controller.Workers{Apps: o.Apps, Objects: o.Objects}, Log: o.Log, Notice: notice, Notify: to,
	})
	s.controller, s.witness = r.Controller, r.Witness
	return s
}

func localSources(allowed bool) controller.LocalSources {
	if allowed {
		return controller.AllowLocal
	}
	return controller.RefuseLocal
}

// listen opens the page's address before anything else is begun: a busy port is an error at the start.
func (s *service) listen() error {
	var err error
	if s.options.Listen != "" && s.listening == nil {
		if err = s.listenForPage(); err != nil {
			return fmt.Errorf("listen for the status page: %w", err)
		}
	}
	if s.options.MetricsListen != "" && s.measuring == nil {
		if s.measuring, err = net.Listen("tcp", s.options.MetricsListen); err != nil {
			return fmt.Errorf("listen for /metrics: %w", err)
		}
	}
	return nil
}

// listenForPage opens an address on this machine, too, where that of the page is reached from others.
func (s *service) listenForPage() (err error) {
	if s.listening, err = net.Listen("tcp", s.options.Listen); err != nil {
		return err
	}
	if s.local = s.listening; isLoopback(s.listening.Addr()) {
		return nil
	}
	s.local, err = net.Listen("tcp", "127.0.0.1:0")
	return err
}

// servePage answers those who are logged in; an address of this machine alone answers to no other name.
func (s *service) servePage(ctx context.Context, g *errgroup.Group) {
	page := s.guarded(s.access.Guard(web.Handler(s.state())))
	g.Go(func() error { return serve(ctx, s.local, web.LocalOnly(page)) })
	if s.listening != s.local {
		g.Go(func() error { return serve(ctx, s.listening, page) })
	}
}

func (s *service) run(ctx context.Context) error {
	if err := s.listen(); err != nil {
		return err
	}
	s.options.Log.Info("truce starts", s.settings()...)
	memory.LimitHeapGrowth()
	g, running := errgroup.WithContext(ctx)
	if s.listening != nil {
		s.servePage(running, g)
	}
	if s.measuring != nil {
		g.Go(func() error { return serve(running, s.measuring, s.guarded(web.ProbeHandler(s.measured()))) })
	}
	g.Go(func() error { return s.lead(running) })
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // ended before it had begun
	}
	return err
}

// guarded answers 500 to a request whose handler panics, and logs and counts the panic.
func (s *service) guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			v := recover()
			if v == http.ErrAbortHandler { //nolint:errorlint // it is the value itself that aborts, as net/http compares it
				panic(v)
			}
			p := panics.CaughtError(v)
			if p == nil {
				return
			}
			s.options.Log.Error("panic", "work", "page", "about", r.URL.Path, "error", p.Value, "stack", p.Stack)
			if m := s.parts.metrics; m != nil {
				m.CountPanic("page")
			}
			http.Error(w, p.Error(), http.StatusInternalServerError)
		}()
		h.ServeHTTP(w, r)
	})
}

// lead stands for election, and works as the leader.
func (s *service) lead(ctx context.Context) error {
	return leader.Run(ctx, leader.Options{
		Election: s.options.Election, Namespace: s.options.Namespaces.Home(s.parts.cluster.Namespace()), Cluster: s.parts.cluster, Term: s.parts.term, Log: s.options.Log,
	}, s.work)
}

// work is what a controller does that leads.
func (s *service) work(ctx context.Context) error {
	s.leads.Store(true)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { s.publish(ctx); return nil })
	g.Go(func() error { s.tidy(ctx); return nil })
	g.Go(func() error { return s.witness(ctx) })
	g.Go(func() error { return s.controller.Run(ctx) })
	return g.Wait()
}

// state is what the pages show.
func (s *service) state() web.State {
	out := web.State{Reports: s.controller.Reports, Ready: s.ready, Note: s.standsBy}
	if s.parts.journal != nil {
		out.Journal = s.parts.journal.Read
	}
	if s.measuring == nil {
		out.Metrics = s.parts.metrics.Handler()
	}
	return out
}

// standsBy is what the page of a controller that does not lead says of its empty list.
func (s *service) standsBy() string {
	if s.options.Election == (leader.Election{}) || s.leads.Load() {
		return ""
	}
	return "This controller stands by and knows no apps. The leader is the holder of the " + election(s.options, s.parts.cluster.Namespace()) + "."
}

// measured is what probes and scrapes see.
func (s *service) measured() web.State {
	return web.State{Ready: s.ready, Metrics: s.parts.metrics.Handler()}
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
		bases, err := s.parts.remotes.Tidy(tidyIdle)
		if err = errors.Join(err, s.parts.git.Retain(append(s.controller.Artifacts(), bases...), tidyIdle)); err != nil {
			s.options.Log.Warn("remove clones that no source needs", "error", err.Error())
		}
	}
}

// ready is an error while it is not yet known what there is to do. Who stands by for the one that leads is ready to do so.
func (s *service) ready() error {
	if s.options.Election != (leader.Election{}) && !s.leads.Load() {
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
		return fmt.Errorf("serve at %s: %w", l.Addr(), err)
	}
	return nil
}

// roll keeps a list of the watches without a selector: those of custom resources and claimants, by which the controller
// knows what there is to do. It is ready when all of them have seen their first list.
type roll struct {
	live.Watcher

	mu      sync.Mutex
	watches map[live.Interest]live.Watch
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
		r.watches = map[live.Interest]live.Watch{}
	}
	r.watches[i] = w
	return w
}

func (r *roll) ready() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.begun() {
		return errors.New("not begun: waiting for the claimants")
	}
	for i, w := range r.watches {
		select {
		case <-w.Synced():
		default:
			if errors.Is(w.Err(), live.ErrUnknownKind) || apierrors.IsForbidden(w.Err()) && !asks(i.GVK) {
				continue // a dialect that is not installed here; CRDs and claimants that are not for a truce of some namespaces
			}
			return fmt.Errorf("%s not listed yet: %w", i.GVK, orPending(w.Err()))
		}
	}
	return nil
}

// begun reports whether the apps are watched, which comes last. The caller holds mu.
func (r *roll) begun() bool {
	for i := range r.watches {
		if registry.Apps()[i.GVK] != nil {
			return true
		}
	}
	return false
}

// asks reports whether a kind is one of those that configure truce.
func asks(gvk object.GVK) bool { return registry.Apps()[gvk] != nil || registry.Sources()[gvk] != nil }

func orPending(err error) error {
	if err == nil {
		return errors.New("pending")
	}
	return err
}
