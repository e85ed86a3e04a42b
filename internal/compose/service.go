package compose

import (
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster/live/watch"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/manager"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/report/metrics"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/webhook"
)

// RunController runs a controller until ctx ends.
func (b Backend) RunController(ctx context.Context, o manager.Options) error {
	to, err := receiver(o.EventsAddress)
	if err != nil {
		return err
	}
	p, err := assembleFor(o, b.Version, supervision{metrics: metrics.NewMetrics(b.Version), term: o.Election.Term()})
	if err != nil {
		return err
	}
	m, err := p.manager(o, controller.NoObserver{}, to)
	if err != nil {
		return errors.Join(err, p.Close())
	}
	return errors.Join(m.Run(ctx), m.Close())
}

// NewManager returns a controller that keeps its clones in a directory of its own. The caller closes it.
func (b Backend) NewManager(o manager.Options, clones string, by controller.Observer) (*manager.Manager, error) {
	o.Sources = local.AnyServer
	p, err := assemble(o.Target, b.Version, cloning{clones, o.Sources}, supervision{metrics: metrics.NewMetrics(b.Version)})
	if err != nil {
		return nil, err
	}
	m, err := p.manager(o, by, nil)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return m, nil
}

// receiver gets the messages; none where there is no address.
func receiver(address string) (notify.Sender, error) {
	if address == "" {
		return nil, nil
	}
	s, err := webhook.NewSender(address)
	if err != nil {
		return nil, exit.WithCode(exit.Usage, fmt.Errorf("--events-addr: %w", err))
	}
	return s, nil
}

func (p *parts) manager(o manager.Options, by controller.Observer, to notify.Sender) (*manager.Manager, error) {
	if err := p.remember(o.CacheDir, o.Log); err != nil {
		return nil, err
	}
	logClient(o.Log)
	watches := &manager.Watches{Watcher: watch.Watcher{Cluster: p.cluster, History: p.engine.History}}
	running := p.controller(RunOptions{Settings: o.Settings, Watcher: watches, Objects: watches.Watcher, Observer: by, Webhooks: o.Webhooks, Notify: to})
	return manager.NewManager(o, manager.Parts{
		Version: p.version, Cluster: p.cluster, Controller: running.Controller, Hooks: running.Hooks, Witness: running.sight, Watches: watches, Journal: p.engine.Journal,
		Metrics: p.metrics, Term: p.term, Clones: p,
	}), nil
}
