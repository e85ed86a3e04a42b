package wire

import (
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/claim"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/inventory/configmap"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/live/watch"
	"github.com/truce-gitops/truce/internal/reconcile"
)

// RunOptions say how a controller is to run.
type RunOptions struct {
	Cluster    *cluster.Client
	Watcher    live.Watcher // nil for one over Cluster
	CacheDir   string       // clones and the journal; made if absent
	Executable string       // truce itself, for render workers and git's ssh
	Process    app.Policy
	Catalogue  *claim.Catalogue // nil for the built-in one
	// LocalSources says whether sources may be repositories on this machine.
	LocalSources controller.LocalSources
	Workers      controller.Workers // zero fields take the defaults
	Pace         controller.Pace    // as well
	Log          *slog.Logger
	Notice       func(reconcile.Notice)
	Report       func(app.Key)
}

// Running is a controller with the engine that it drives.
type Running struct {
	Engine     *reconcile.Engine
	Controller *controller.Controller
	close      func()
}

// Close ends the helpers of a controller whose Run has returned.
func (r *Running) Close() { r.close() }

// Controller puts a controller together. Its Run does the work.
func Controller(o RunOptions) (*Running, error) {
	p, err := newParts(o.Cluster, o.Executable, filepath.Join(o.CacheDir, "git"))
	if err != nil {
		return nil, err
	}
	if err := p.remember(o.CacheDir, o.Log); err != nil {
		return nil, errors.Join(err, p.close())
	}
	r := p.controller(o)
	r.close = func() { _ = p.close() } // helper processes, which are ours and about to end
	return r, nil
}

func (p *parts) controller(o RunOptions) *Running {
	if o.Watcher == nil {
		o.Watcher = watch.Watcher{Cluster: p.cluster}
	}
	c := controller.New(controller.Options{
		Cluster: p.cluster, Watcher: o.Watcher, Fetcher: p.git, Local: p.git, Kinds: kinds(),
		LocalSources: o.LocalSources, Process: o.Process, Catalogue: o.Catalogue, Workers: o.Workers.OrDefault(), Pace: o.Pace, Log: o.Log, Now: time.Now, Notice: o.Notice, Report: o.Report,
	})
	chosen := p.engine
	chosen.Defaults.Objects = c.Workers.Objects
	chosen.Inventory = &configmap.Store{Cluster: p.cluster, Reading: configmap.All}
	engine := reconcile.New(chosen)
	c.Use(engine)
	return &Running{Engine: engine, Controller: c, close: func() {}}
}
