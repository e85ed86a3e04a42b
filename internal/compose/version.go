package compose

import (
	"cmp"
	"context"

	"github.com/truce-gitops/truce/internal/model/app"
)

// versions asks the API server for its own, and reads what controllers have published.
func (c *client) versions(ctx context.Context) (server string, controllers []struct{ Namespace, Version, Mode string }, err error) {
	if server, err = c.parts.cluster.Version(ctx); err != nil {
		return "", nil, err
	}
	found, err := c.published(ctx, "")
	for _, o := range found {
		controllers = append(controllers, struct{ Namespace, Version, Mode string }{
			o.Namespace(), text(o, "data", keyVersion), cmp.Or(text(o, "data", keyMode), string(app.Enforce)),
		})
	}
	return server, controllers, err
}
