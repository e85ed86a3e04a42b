package compose

import (
	"github.com/truce-gitops/truce/internal/cli"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/report/metrics"
)

// supervision is what watches over the requests to the cluster. Its zero value is none.
type supervision struct {
	metrics *metrics.Metrics // count them
	term    *lease.Term      // bounds those that write
}

// dial connects to the cluster that a command's flags name.
func dial(t cli.Target, version string, by supervision) (*cluster.Client, error) {
	o := cluster.Options{
		Kubeconfig: t.Kubeconfig, Context: t.Context, UserAgent: "truce/" + version,
		As: t.As, AsUID: t.AsUID, AsGroups: t.AsGroups, Timeout: t.Timeout, Term: by.term,
	}
	if m := by.metrics; m != nil {
		o.Wrap = m.Transport
	}
	return cluster.Connect(o)
}
