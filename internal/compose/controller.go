package compose

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"

	"github.com/truce-gitops/truce/internal/apply/impersonate"
	"github.com/truce-gitops/truce/internal/apply/inventory/configmap"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/controller/webhooks"
	"github.com/truce-gitops/truce/internal/controller/witness"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/deliver"
	"github.com/truce-gitops/truce/internal/report/notify/subscription"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/generate"
)

// RunOptions say how a controller is to run.
type RunOptions struct {
	controller.Settings
	Cluster    *cluster.Client
	Watcher    live.Watcher        // nil for one over Cluster
	Objects    live.Watcher        // watches the objects of apps; nil for Watcher
	Executable string              // truce itself, for render workers and git's ssh
	Observer   controller.Observer // nil for none
	Metrics    *metrics.Metrics    // what happens is counted there; nil for nowhere
	Webhooks   webhooks.Place      // where requests to look for news come in; the zero value for none
	Notify     notify.Sender       // gets a copy of every Event; nil for sending to Providers
	Clouds     cloud.Environment   // by which clouds give the process an identity; nil for its own
	Windows    deliver.Windows     // how long messages to Providers wait for others; the zero value for the default
}

// Running is a controller with the engine that it drives.
type Running struct {
	Engine     *reconcile.Engine
	Controller *controller.Controller
	Hooks      *webhooks.Hooks // nil for none
	sight      *witness.Sight
	parts      *parts
}

// Witness receives reports of writes until the context ends, while the controller runs.
func (r *Running) Witness(ctx context.Context) error { return r.sight.Run(ctx) }

// Close ends the helpers of a controller whose Run has returned.
func (r *Running) Close() { _ = r.parts.Close() } // helper processes, which are ours and about to end

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
		return nil, errors.Join(err, p.Close())
	}
	return p.controller(o), nil
}

func (p *parts) controller(o RunOptions) *Running {
	if o.Watcher == nil {
		o.Watcher = watch.Watcher{Cluster: p.cluster, History: p.engine.History}
	}
	if o.Observer == nil {
		o.Observer = controller.NoObserver{}
	}
	p.fetchFrom(o.Remotes)
	p.pool.UseKeyService(o.KeyService)
	key := &configmap.Key{Cluster: p.cluster, Namespace: o.Home(p.cluster.Namespace())}
	records := &configmap.Store{Cluster: p.cluster, Namespaces: o.Namespaces, Reading: configmap.All, Key: key}
	o.Tenancy = instance.CompleteRules(o.Tenancy, p.cluster.Namespace())
	p.clouds.Tenants = o.Tenancy
	if o.Clouds != nil {
		p.clouds.Environment = o.Clouds
	}
	o.Workers = o.Workers.OrDefault()
	sight := witness.NewSight(witness.Options{Cluster: p.cluster, Home: o.Home(p.cluster.Namespace()), Place: o.Witness, Log: o.Log})
	chosen := p.engine
	chosen.History.OnWentBack(records.StartOver)
	chosen.ObjectsAtOnce = o.Workers.Objects
	chosen.Inventory, chosen.Seals = records, key
	chosen.Identities = impersonate.NewAccess(p.cluster, tenancy.Access{Live: chosen.Live, Writer: chosen.Writer})
	if o.Namespaces.Limited() {
		chosen.Foreign = instance.ForeignApps{Live: chosen.Live, Namespaces: o.Namespaces}
	}
	chosen.Witnesses = sight.Evidence(chosen.Hasher, chosen.Journal)
	var c *controller.Controller
	c = controller.NewController(controller.Options{
		Settings: o.Settings, Cluster: p.cluster, Watcher: o.Watcher, Objects: o.Objects, Fetcher: p.fetcher(), Builder: generate.Builder{Packs: p.packs}, Commits: p.git, Local: p.git, Kinds: customResources(o.WatchConfigs), Configured: p.configured,
		Remotes:  remotes{p, chosen, o.Sources},
		Observer: observer{o.Observer, p.metrics, p.releaser, sight}, Queues: p.metrics.Queues(), Notify: o.Notify,
		Outlet: p.outlet(o, func(ctx context.Context, key app.Key, hash string) (subscription.Commit, bool, error) {
			got, awaited, err := c.Commit(ctx, key, hash)
			return subscription.Commit{Message: got.Message, Author: got.Author, Date: got.Time, Tags: got.Tags}, awaited, err
		}),
	}, chosen)
	sight.SetObjects(c.Engine(), c)
	p.metrics.Watch(c)
	return &Running{Engine: c.Engine(), Controller: c, Hooks: p.hooks(o, c), sight: sight, parts: p}
}
