package compose

import (
	"context"
	"errors"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/identity"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/truce-gitops/truce/internal/apply/impersonate"
	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/upstream"
)

// RunOptions say how a controller is to run.
type RunOptions struct {
	Cluster    *cluster.Client
	Watcher    live.Watcher // nil for one over Cluster
	CacheDir   string       // clones and the journal; made if absent
	Executable string       // truce itself, for render workers and git's ssh
	Process    app.Policy
	Tenancy    tenancy.Rules // what holds for each app; Reaches and Admins are filled in
	// Namespaces are those whose custom resources are worked for; none means all.
	Namespaces cluster.Namespaces
	Catalogue  *claim.Catalogue // nil for the built-in one
	// LocalSources says whether sources may be repositories on this machine.
	LocalSources controller.LocalSources
	Sources      egress.Policy      // the servers that sources may be at
	Remotes      upstream.Hosts     // what kustomizations may name by addresses
	Workers      controller.Workers // zero fields take the defaults
	Pace         controller.Pace    // as well
	Log          *slog.Logger       // nil for none
	Notice       func(reconcile.FindingEvent)
	Report       func(app.Key)
	Witness      attribution.Place // where admission reports writers; the zero Place for none
	Metrics      *metrics.Metrics  // what happens is counted there; nil for nowhere
	Notify       notify.Sender     // gets a copy of every Event; may be nil
}

// Running is a controller with the engine that it drives.
type Running struct {
	Engine     *reconcile.Engine
	Controller *controller.Controller
	// Witness hears of writes until the context ends, while the controller runs. Without a place for it, it only takes away what an
	// earlier process has left.
	Witness func(context.Context) error
	close   func()
}

// Close ends the helpers of a controller whose Run has returned.
func (r *Running) Close() { r.close() }

// Controller puts a controller together. Its Run does the work.
func Controller(o RunOptions) (*Running, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p, err := newParts(o.Cluster, o.Executable, cloning{dir: filepath.Join(o.CacheDir, "git"), servers: o.Sources})
	if err != nil {
		return nil, err
	}
	p.metrics = o.Metrics
	if err := p.remember(o.CacheDir, o.Log); err != nil {
		return nil, errors.Join(err, p.close())
	}
	r := p.controller(o)
	r.close = func() { _ = p.close() } // helper processes, which are ours and about to end
	return r, nil
}

// stirred notes that something is going on where a report changes; next may be nil.
func (p *parts) stirred(next func(app.Key)) func(app.Key) {
	return func(key app.Key) {
		p.releaser.Busy()
		if next != nil {
			next(key)
		}
	}
}

func (p *parts) controller(o RunOptions) *Running {
	if o.Watcher == nil {
		o.Watcher = watch.Watcher{Cluster: p.cluster, History: p.engine.History}
	}
	p.fetchFrom(o.Remotes)
	used := make(chan struct{}, 1)
	home := o.Namespaces.Home(p.cluster.Namespace())
	records := &configmap.Store{
		Cluster: p.cluster, Namespaces: o.Namespaces, Reading: configmap.All, Key: &configmap.Key{Cluster: p.cluster, Namespace: home},
	}
	options := p.counted(controller.Options{
		Kept:    func() { poke(used) },
		Cluster: p.cluster, Watcher: o.Watcher, Fetcher: p.git, Ancestry: p.git, Local: p.git, Kinds: kinds(), Configured: p.configured, Namespaces: o.Namespaces,
		LocalSources: o.LocalSources, Process: o.Process, Tenancy: p.tenancy(o), Catalogue: o.Catalogue, Workers: o.Workers.OrDefault(), Pace: o.Pace, Log: o.Log, Now: time.Now, Notice: o.Notice, Report: p.stirred(o.Report), Notify: o.Notify,
	})
	chosen := p.engine
	chosen.History.OnWentBack(records.StartOver)
	chosen.ObjectsAtOnce = options.Workers.Objects
	chosen.Inventory = records
	chosen.Identities = impersonate.New(p.cluster, tenancy.Access{Live: chosen.Live, Writer: chosen.Writer})
	if o.Namespaces.Limited() {
		chosen.Foreign = instance.ForeignApps{Live: chosen.Live, Namespaces: o.Namespaces}
	}
	s := sight{parts: p, used: used, home: home, log: o.Log}
	chosen.Witnesses = s.witnesses(o.Witness)
	s.controller = controller.NewController(options, chosen)
	if p.metrics != nil {
		p.metrics.Watch(s.controller.Reports)
	}
	return &Running{Engine: s.controller.Engine(), Controller: s.controller, Witness: s.run(o.Witness), close: func() {}}
}

// tenancy completes the rules by what this process knows: which namespace is its own, and that an Application may be in any namespace and
// deploys to no other, as long as no AppProject says more.
func (p *parts) tenancy(o RunOptions) tenancy.Rules {
	rules := o.Tenancy
	rules.Admins = append([]string{o.Namespaces.Home(p.cluster.Namespace())}, rules.Admins...)
	rules.Reaches = map[string]identity.NamespaceReach{registry.Kustomizations.Kind: identity.Namespaced, registry.Applications.Kind: identity.Own}
	return rules
}
