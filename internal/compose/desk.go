package compose

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// fitted is the desk for a kind as the cluster's own CRD lets it write.
func (c *client) fitted(ctx context.Context, kind string) (object.GVK, dialect.Commands, error) {
	gvk, d, err := registry.CommandsFor(kind)
	if _, ok := d.(flux.Commands); err != nil || !ok {
		return gvk, d, err
	}
	crd, err := c.parts.engine.Live.Get(ctx, crds, object.ID{Group: crds.Group, Kind: crds.Kind, Name: "kustomizations." + gvk.Group})
	if err != nil {
		return gvk, d, nil // who may not read it is told by the server what it would drop: see write
	}
	return gvk, flux.Commands{Dropped: flux.DroppedFields(crd)}, nil
}

// read gets the custom resources that an app is written down in.
func (c *client) read(ctx context.Context, key app.Key) (dialect.Resources, error) {
	gvk, translate, err := registry.AppsFor(key)
	if err != nil {
		return dialect.Resources{}, err
	}
	out := dialect.Resources{}
	out.App, err = c.parts.engine.Live.Get(ctx, gvk, idOf(gvk, key))
	if err != nil {
		return out, fmt.Errorf("read %s: %w", key, err)
	}
	source := translate.App(out.App, app.Policy{}).Source
	for gvk := range registry.Sources() {
		if gvk.Kind != source.Kind {
			continue
		}
		out.Source, err = found(c.parts.engine.Live.Get(ctx, gvk, idOf(gvk, crOf(source))))
		if err != nil {
			return out, fmt.Errorf("read %s: %w", source, err)
		}
	}
	return out, nil
}

// crOf is the custom resource of a source.
func crOf(key app.SourceKey) app.Key {
	return app.Key{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
}

func idOf(gvk object.GVK, key app.Key) object.ID {
	return object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name}
}

// tell reads what an app's custom resource tells.
func (c *client) tell(ctx context.Context, key app.Key) (dialect.Summary, error) {
	gvk, d, err := registry.CommandsFor(key.Kind)
	if err != nil {
		return dialect.Summary{}, err
	}
	cr, err := c.parts.engine.Live.Get(ctx, gvk, idOf(gvk, key))
	if err != nil {
		return dialect.Summary{}, fmt.Errorf("read %s: %w", key, err)
	}
	return d.Summarize(cr), nil
}
