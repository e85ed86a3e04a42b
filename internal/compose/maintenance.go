package compose

import (
	"context"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/view/preflight"
	"github.com/truce-gitops/truce/internal/view/uninstall"
)

// maintenance connects the commands about an installation to their cluster.
type maintenance struct{ version string }

// Check implements cli.Backend's Maintenance.
func (m maintenance) Check(ctx context.Context, t cluster.Target) (preflight.Facts, error) {
	c, err := dial(t, m.version, supervision{})
	if err != nil {
		return preflight.Facts{}, err
	}
	return preflight.Gather(ctx, c)
}

// Leftovers implements cli.Backend's Maintenance.
func (m maintenance) Leftovers(ctx context.Context, t cluster.Target, in uninstall.Scope) (uninstall.Leftovers, error) {
	c, err := dial(t, m.version, supervision{})
	if err != nil {
		return uninstall.Leftovers{}, err
	}
	return uninstall.Find(ctx, c, in)
}

// Remove implements cli.Backend's Maintenance.
func (m maintenance) Remove(ctx context.Context, t cluster.Target, s uninstall.Step) error {
	c, err := dial(t, m.version, supervision{})
	if err != nil {
		return err
	}
	return uninstall.Remove(ctx, c, s)
}
