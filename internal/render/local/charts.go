package local

import (
	"context"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chart"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/oci"
	"github.com/truce-gitops/truce/internal/source/pack"
)

// chartStores fetch charts, by the kind of their repository, without the identity that this machine has at a cloud.
type chartStores struct {
	indexed  *chart.Store
	registry *oci.Store
}

func newChartStores(packs *pack.Store, servers egress.Policy) chartStores {
	return chartStores{indexed: &chart.Store{Packs: packs, Servers: servers}, registry: &oci.Store{Packs: packs, Servers: servers}}
}

// Fetch implements source.Fetcher.
func (c chartStores) Fetch(ctx context.Context, s source.Spec) (source.Artifact, error) {
	if s.Kind == source.OCI {
		return c.registry.Fetch(ctx, s)
	}
	return c.indexed.Fetch(ctx, s)
}

// Retain forgets repositories that were not asked for so long.
func (c chartStores) Retain(idle time.Duration) {
	c.indexed.Retain(idle)
	c.registry.Retain(idle)
}
