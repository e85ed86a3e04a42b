package wire

import (
	"cmp"
	"context"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/cli"
)

// versions asks the API server for its own, and reads what controllers have published.
func (c *client) versions(ctx context.Context) (cli.Versions, error) {
	var out cli.Versions
	var err error
	if out.Server, err = c.parts.cluster.Version(ctx); err != nil {
		return out, err
	}
	found, err := c.published(ctx, "")
	for _, o := range found {
		out.Controllers = append(out.Controllers, cli.ControllerVersion{
			Namespace: o.Namespace(), Version: text(o, "data", keyVersion), Mode: cmp.Or(text(o, "data", keyMode), string(app.Enforce)),
		})
	}
	return out, err
}
