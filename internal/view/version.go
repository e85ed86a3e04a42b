package view

import (
	"cmp"
	"context"

	"github.com/truce-gitops/truce/internal/controller/instance"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// Versions asks the API server for its own, and reads what controllers have published.
func (c *Cluster) Versions(ctx context.Context) (server string, controllers []struct{ Namespace, Version, Mode string }, err error) {
	if server, err = c.cluster.Version(ctx); err != nil {
		return "", nil, err
	}
	found, err := instance.ListInstances(ctx, c.cluster, "")
	for _, o := range found {
		controllers = append(controllers, struct{ Namespace, Version, Mode string }{
			o.Home(), o.Version(), cmp.Or(string(o.Policy().Mode), string(policy.Enforce)),
		})
	}
	return server, controllers, err
}
