package compose

import (
	"os"
	"path/filepath"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/controller/notices"
	"github.com/truce-gitops/truce/internal/controller/webhooks"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/project"
	"github.com/truce-gitops/truce/internal/report/notify"
	"github.com/truce-gitops/truce/internal/report/notify/outbox"
)

// outlet sends messages to the Providers of the cluster; nil where the messages go to Flux's notification-controller (--events-addr), which sends them
// by the same Providers and Alerts: neither sends twice. commit is called after the controller has begun to run.
func (p *parts) outlet(o RunOptions, commit notices.ReadCommit) notify.Outlet {
	if o.Notify != nil {
		return nil
	}
	store, err := outbox.OpenStore(filepath.Join(o.CacheDir, "notifications.db"), o.Log)
	if err != nil {
		o.Log.Warn("what is to be sent is kept until this process ends", "error", err.Error())
		if store, err = p.temporaryStore(o); err != nil {
			o.Log.Error("no notifications are sent", "error", err.Error())
			return nil
		}
	}
	p.outbox = store
	return notices.NewOutlet(notices.Options{
		Cluster: p.cluster, Watcher: o.Watcher, Live: p.engine.Live, Namespaces: o.Namespaces, Store: store, Servers: o.Sources, Windows: o.Windows, Clouds: p.clouds, Panics: p.metrics, Log: o.Log, Commit: commit, Term: p.term,
		Dialect: flux.Notifications{SameNamespace: staysHome(o.Tenancy)}, Subscribers: subscribersOf(o.Tenancy),
	})
}

// subscribersOf are the namespaces whose Applications may subscribe to messages, which Argo CD's services send with the administrators' tokens; nil for all.
func subscribersOf(r tenancy.Rules) []string {
	if !staysHome(r) {
		return nil
	}
	return append([]string{project.ArgoNamespace}, r.Admins...)
}

// staysHome reports whether Alerts and Receivers may name custom resources of their own namespace alone.
func staysHome(r tenancy.Rules) bool {
	return r.References == tenancy.SameNamespace || r.Sharing == tenancy.Shared
}

// hooks take webhooks for the controller. Without an address for them they only release Receivers that are deleted; nil where the controller writes nothing.
func (p *parts) hooks(o RunOptions, c *controller.Controller) *webhooks.Hooks {
	if o.Webhooks.Listen == "" && o.Process.Mode == policy.Observe {
		return nil
	}
	return webhooks.NewHooks(webhooks.Options{
		Cluster: p.cluster, Watcher: o.Watcher, Live: p.engine.Live, Namespaces: o.Namespaces, Work: c, Place: o.Webhooks, Servers: o.Sources, Panics: p.metrics, Log: o.Log,
		Dialect: flux.Receivers{SameNamespace: staysHome(o.Tenancy)},
	})
}

// temporaryStore is for a process that can write nothing to its cache directory.
func (p *parts) temporaryStore(o RunOptions) (*outbox.Store, error) {
	dir, err := os.MkdirTemp("", "truce-")
	if err != nil {
		return nil, err
	}
	p.forgotten = dir
	return outbox.OpenStore(filepath.Join(dir, "notifications.db"), o.Log)
}
