package wire

import (
	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/metrics"
)

// dial connects to the cluster that a command's flags name.
func dial(t cli.Target, version string, m *metrics.Metrics) (*cluster.Client, error) {
	o := cluster.Options{
		Kubeconfig: t.Kubeconfig, Context: t.Context, UserAgent: "truce/" + version,
		As: t.As, AsUID: t.AsUID, AsGroups: t.AsGroups, Timeout: t.Timeout,
	}
	if m != nil {
		o.Wrap = m.Transport
	}
	return cluster.Connect(o)
}
