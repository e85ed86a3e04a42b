package wire

import (
	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
)

// dial connects to the cluster that a command's flags name.
func dial(t cli.Target, version string) (*cluster.Client, error) {
	return cluster.Connect(cluster.Options{
		Kubeconfig: t.Kubeconfig, Context: t.Context, UserAgent: "truce/" + version,
		As: t.As, AsUID: t.AsUID, AsGroups: t.AsGroups, Timeout: t.Timeout,
	})
}
