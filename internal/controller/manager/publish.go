package manager

import (
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/controller/instance"
)

// publishAgain is how long a controller waits that could not write it.
const publishAgain = 30 * time.Second

// publish writes down how this controller runs, and retries until that has succeeded or ctx ends.
func (m *Manager) publish(ctx context.Context) {
	warn := sync.OnceFunc(func() { m.warnOfOverlap(ctx) })
	for {
		err := instance.Publish(ctx, m.Cluster, m.published())
		if err == nil {
			warn()
			err = m.publishToken(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		m.options.Log.Warn("commands cannot know this controller's flags and log in at its page", "error", err.Error())
		select {
		case <-time.After(publishAgain):
		case <-ctx.Done():
		}
	}
}

// published is what this instance publishes. Commands find the status page on this machine, or within the pod.
func (m *Manager) published() instance.Settings {
	o := m.options
	out := instance.Settings{
		Version: m.Version, Namespaces: o.Namespaces, RuntimeNamespace: o.RuntimeNamespace, Process: o.Process, Catalogue: o.Catalogue,
		Remotes: o.Remotes, Sources: o.Sources, Tenancy: o.Tenancy,
	}
	if m.local == nil {
		return out
	}
	host, port, err := net.SplitHostPort(m.local.Addr().String())
	if err != nil {
		return out
	}
	name, err := os.Hostname() // a pod's is its name
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" && err == nil {
		out.Pod = m.Cluster.Namespace() + "/" + name + ":" + port
		return out
	}
	out.Page = "http://" + net.JoinHostPort(host, port)
	return out
}

// publishToken publishes the token of the page; nothing where there is no page.
func (m *Manager) publishToken(ctx context.Context) error {
	if m.local == nil {
		return nil
	}
	return instance.PublishToken(ctx, m.Cluster, m.options.Home(m.Cluster.Namespace()), m.token)
}

// warnOfOverlap logs each other instance that works for a namespace of this one.
func (m *Manager) warnOfOverlap(ctx context.Context) {
	all, err := instance.ListInstances(ctx, m.Cluster, "")
	if err != nil {
		m.options.Log.Warn("cannot check whether another truce instance works for the same namespaces", "error", err.Error())
		return
	}
	ours := m.options.Namespaces
	for _, o := range all {
		shared := instance.Overlap(ours, o.Namespaces())
		if o.Home() != m.options.Home(m.Cluster.Namespace()) && len(shared) > 0 && o.SignOfLife(ctx) == nil {
			m.options.Log.Warn("another truce instance works for the same namespaces, and both write there: give each instance its own namespaces by --namespace, or remove one",
				"other", o.String(), "shared", strings.Join(shared, ","))
		}
	}
}
