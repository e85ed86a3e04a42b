// Package manager answers: what else does a process do that runs a controller?
//
// In: the settings of `truce controller`, and a controller that was put together.
// Out: while Run runs, the election, the status page, probes and metrics, the witness, the published settings, and old clones removed.
// Promise: a port that is taken is an error before anything begins; what an instance of several writes, it writes as the leader.
// Not here: which implementations the controller has (compose), what is done when (controller), what the page shows (web).
package manager

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/endpoint"
	"github.com/truce-gitops/truce/internal/controller/leader"
	"github.com/truce-gitops/truce/internal/controller/memory"
	"github.com/truce-gitops/truce/internal/controller/webhooks"
	"github.com/truce-gitops/truce/internal/controller/witness"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/web"
)

// Options are the flags of `truce controller`.
type Options struct {
	controller.Settings
	cluster.Target
	Listen string // address of the status page; empty for none
	// MetricsListen is the address of /metrics; empty for that of the status page.
	MetricsListen string
	// Page is the Service by which others reach the status page; the zero value for none.
	Page     endpoint.Place
	Election leader.Election
	Webhooks webhooks.Place // where requests to look for news come in; the zero value for none
	// EventsAddress is the URL that receives a copy of every Event, in the form of Flux's generic Provider; may be empty.
	EventsAddress string
}

// Parts are what a Manager runs, and what it reads.
type Parts struct {
	Version    string
	Cluster    *cluster.Client
	Controller *controller.Controller
	Witness    *witness.Sight
	Hooks      *webhooks.Hooks // nil for none; without an address they only release Receivers
	Watches    *Watches        // those of Controller
	Journal    journal.Journal // nil for none
	Metrics    *metrics.Metrics
	Term       *lease.Term // when the process may write; nil for always
	Clones     Clones
}

// Clones are what was fetched. Close ends the parts.
type Clones interface {
	// Retain removes what was fetched for sources that are gone: nothing of keep, and nothing that was used since.
	Retain(keep []source.Artifact, idle time.Duration) error
	io.Closer
}

// Manager is a controller with its status page.
type Manager struct {
	Parts
	options   Options
	listening net.Listener // nil until Listen, or for no page
	local     net.Listener // the same where that is this machine's own, else one beside it: for commands
	measuring net.Listener // nil as well, for probes and /metrics at an address of their own
	hooking   net.Listener // for webhooks
	leads     atomic.Bool
	token     string // of the page, for commands: see publishToken
	access    *web.Access
}

// NewManager returns a Manager, whose Run does the work and whose Close ends the parts.
func NewManager(o Options, p Parts) *Manager {
	m := &Manager{Parts: p, options: o, token: rand.Text()}
	m.access = web.NewAccess(m.token, web.ReviewTokens(p.Cluster))
	return m
}

// Close ends the parts of a Manager whose Run has returned.
func (m *Manager) Close() error { return m.Clones.Close() }

// Page returns the address of the status page for this machine, and a link that logs in the first browser that opens it; both empty for no
// page. It is known after Listen.
func (m *Manager) Page() (address, login string) {
	if m.local == nil {
		return "", ""
	}
	address = "http://" + m.local.Addr().String()
	return address, address + m.access.Login()
}

// WebhookURL returns the URL before the paths of webhooks; empty for none. It is known after Listen.
func (m *Manager) WebhookURL() string {
	if m.hooking == nil {
		return ""
	}
	return "http://" + m.hooking.Addr().String()
}

// Listen opens the page's address before anything else is begun: a busy port is an error at the start.
func (m *Manager) Listen() error {
	var err error
	if m.options.Listen != "" && m.listening == nil {
		if err = m.listenForPage(); err != nil {
			return fmt.Errorf("listen for the status page: %w", err)
		}
	}
	if m.options.MetricsListen != "" && m.measuring == nil {
		if m.measuring, err = net.Listen("tcp", m.options.MetricsListen); err != nil {
			return fmt.Errorf("listen for /metrics: %w", err)
		}
	}
	if m.Hooks != nil && m.hooking == nil && m.options.Webhooks.Listen != "" {
		if m.hooking, err = net.Listen("tcp", m.options.Webhooks.Listen); err != nil {
			return fmt.Errorf("listen for webhooks: %w", err)
		}
	}
	return nil
}

// listenForPage opens an address on this machine, too, where that of the page is reached from others.
func (m *Manager) listenForPage() (err error) {
	if m.listening, err = net.Listen("tcp", m.options.Listen); err != nil {
		return err
	}
	if m.local = m.listening; isLoopback(m.listening.Addr()) {
		return nil
	}
	m.local, err = net.Listen("tcp", "127.0.0.1:0")
	return err
}

// servePage answers those who are logged in; an address of this machine alone answers to no other name.
func (m *Manager) servePage(ctx context.Context, g *errgroup.Group) {
	page := m.guarded(web.LeaderOnly(m, m.access.Guard(web.Handler(m.state()))))
	g.Go(func() error { return serveUntil(ctx, m.local, web.LocalOnly(page)) })
	if m.listening != m.local {
		g.Go(func() error { return serveUntil(ctx, m.listening, page) })
	}
}

// Run works until ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	if err := m.Listen(); err != nil {
		return err
	}
	m.options.Log.Info("truce starts", m.settings()...)
	memory.LimitHeapGrowth()
	g, running := errgroup.WithContext(ctx)
	if m.listening != nil {
		m.servePage(running, g)
	}
	if m.measuring != nil {
		g.Go(func() error { return serveUntil(running, m.measuring, m.guarded(web.ProbeHandler(m.measured()))) })
	}
	if m.hooking != nil {
		g.Go(func() error { return m.Hooks.Serve(running, m.hooking) })
	}
	g.Go(func() error { return m.lead(running) })
	err := g.Wait()
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // ended before it had begun
	}
	return err
}

// guarded answers 500 to a request whose handler panics, and logs and counts the panic.
func (m *Manager) guarded(h http.Handler) http.Handler {
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
			m.options.Log.Error("panic", "work", "page", "about", r.URL.Path, "error", p.Value, "stack", p.Stack)
			m.Metrics.CountPanic("page")
			http.Error(w, p.Error(), http.StatusInternalServerError)
		}()
		h.ServeHTTP(w, r)
	})
}

// lead stands for election, and works as the leader.
func (m *Manager) lead(ctx context.Context) error {
	return leader.RunElected(ctx, leader.Options{
		Election: m.options.Election, Namespace: m.options.Home(m.Cluster.Namespace()), WorksFor: m.options.Namespaces,
		Cluster: m.Cluster, Term: m.Term, Log: m.options.Log,
	}, m.work)
}

// work is what a controller does that leads.
func (m *Manager) work(ctx context.Context) error {
	m.leads.Store(true)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { m.publish(ctx); return nil })
	g.Go(func() error { m.tidy(ctx); return nil })
	g.Go(func() error { m.point(ctx); return nil })
	g.Go(func() error { return m.Witness.Run(ctx) })
	if m.Hooks != nil {
		g.Go(func() error { return m.Hooks.Run(ctx) })
	}
	g.Go(func() error { return m.Controller.Run(ctx) })
	return g.Wait()
}

// point makes the Service of the status page lead here: who stands by has no page.
func (m *Manager) point(ctx context.Context) {
	if m.listening == nil {
		return
	}
	if at, ok := m.listening.Addr().(*net.TCPAddr); ok {
		m.options.Page.Keep(ctx, endpoint.Options{Cluster: m.Cluster, Log: m.options.Log, Port: endpoint.Port{Name: "http", Number: int64(at.Port)}})
	}
}

// state is what the pages show.
func (m *Manager) state() web.State {
	out := web.State{Controller: m}
	if m.Journal != nil {
		out.Journal = m.Journal
	}
	if m.measuring == nil {
		out.Metrics = m.Metrics.Handler()
	}
	return out
}

// Reports implements web.Controller.
func (m *Manager) Reports() []report.Report { return m.Controller.Reports() }

// Note implements web.Controller.
func (m *Manager) Note() string {
	if m.options.Election == (leader.Election{}) || m.leads.Load() {
		return ""
	}
	return "This controller stands by and knows no apps. The leader is the holder of the " + election(m.options, m.Cluster.Namespace()) + "."
}

// measured is what probes and scrapes see.
func (m *Manager) measured() web.State {
	return web.State{Controller: m, Metrics: m.Metrics.Handler()}
}

// How often clones are looked through, and how long one is kept that no source needs any more.
const (
	tidyEvery = time.Hour
	tidyIdle  = 24 * time.Hour
)

// tidy removes the clones of sources that are gone.
func (m *Manager) tidy(ctx context.Context) {
	every := time.NewTicker(tidyEvery)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
		if err := m.Clones.Retain(m.Controller.Artifacts(), tidyIdle); err != nil {
			m.options.Log.Warn("remove clones that no source needs", "error", err.Error())
		}
	}
}

// Ready implements web.Controller. It is an error while it is not yet known what there is to do. Who stands by for the one that leads is ready to do so.
func (m *Manager) Ready() error {
	if m.options.Election != (leader.Election{}) && !m.leads.Load() {
		return nil
	}
	return m.Watches.ready()
}

// serveUntil answers until ctx ends.
func serveUntil(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve returns its error
	defer stop()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve at %s: %w", l.Addr(), err)
	}
	return nil
}

// isLoopback reports whether only this machine, or this pod, reaches an address.
func isLoopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
