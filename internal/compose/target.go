package compose

import (
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/lease"
	"github.com/truce-gitops/truce/internal/report/metrics"
)

// supervision is what watches over the requests to the cluster. Its zero value is none.
type supervision struct {
	metrics *metrics.Metrics // count them
	term    *lease.Term      // bounds those that write
}

// connectTo connects to the cluster that a command's flags name.
func connectTo(t cluster.Target, version string, by supervision) (*cluster.Client, error) {
	o := cluster.Options{
		Target: t, UserAgent: "truce/" + version, Term: by.term,
	}
	if m := by.metrics; m != nil {
		o.Wrap = m.Transport
	}
	return cluster.Connect(o)
}
