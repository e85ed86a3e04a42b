package view

import (
	"context"
	"fmt"
	"github.com/truce-gitops/truce/internal/reconcile/served"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// fitted is the dialect of a kind, limited to the fields that the cluster's own CRD has.
func (c *Cluster) fitted(ctx context.Context, kind string) (object.GVK, dialect.Commands, error) {
	gvk, d, err := registry.CommandsFor(kind)
	if _, ok := d.(flux.Commands); err != nil || !ok {
		return gvk, d, err
	}
	crd, err := c.engine.Live.Get(ctx, served.CRDs, object.ID{Group: served.CRDs.Group, Kind: served.CRDs.Kind, Name: "kustomizations." + gvk.Group})
	if err != nil {
		return gvk, d, nil // without permission to read it, the server reports what it would drop: see write
	}
	return gvk, flux.Commands{Dropped: flux.Definitions{}.DroppedFields(crd)}, nil
}

// read gets the custom resources that an app is written down in.
func (c *Cluster) read(ctx context.Context, key app.Key) (dialect.Resources, error) {
	gvk, translate, err := registry.AppsFor(key)
	if err != nil {
		return dialect.Resources{}, err
	}
	out := dialect.Resources{}
	out.App, err = c.engine.Live.Get(ctx, gvk, resourceID(gvk, key))
	if err != nil {
		return out, fmt.Errorf("read %s: %w", key, err)
	}
	source := translate.App(out.App, policy.Policy{}).Source
	for gvk := range registry.Sources() {
		if gvk.Kind != source.Kind {
			continue
		}
		out.Source, err = nilIfAbsent(c.engine.Live.Get(ctx, gvk, resourceID(gvk, sourceCustomResource(source))))
		if err != nil {
			return out, fmt.Errorf("read %s: %w", source, err)
		}
	}
	return out, nil
}

// sourceCustomResource is the custom resource of a source.
func sourceCustomResource(key app.SourceKey) app.Key {
	return app.Key{Kind: key.Kind, Namespace: key.Namespace, Name: key.Name}
}

func resourceID(gvk object.GVK, key app.Key) object.ID {
	return object.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: key.Namespace, Name: key.Name}
}

// AppState reads what an app's custom resource says.
func (c *Cluster) AppState(ctx context.Context, key app.Key) (dialect.Summary, error) {
	gvk, d, err := registry.CommandsFor(key.Kind)
	if err != nil {
		return dialect.Summary{}, err
	}
	cr, err := c.engine.Live.Get(ctx, gvk, resourceID(gvk, key))
	if err != nil {
		return dialect.Summary{}, fmt.Errorf("read %s: %w", key, err)
	}
	return d.Summarize(cr), nil
}
