package compose

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// desks are what commands need of each kind of app.
func desks() map[object.GVK]dialect.Commands {
	return map[object.GVK]dialect.Commands{
		kustomizations: flux.Commands{},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}: argocd.Commands{},
	}
}

// inline are the sources that apps name themselves, by their kind.
func inline() map[string]dialect.Sources {
	return map[string]dialect.Sources{"Repository": argocd.Repositories{}}
}

// desk is the one for an app's kind.
func desk(kind string) (object.GVK, dialect.Commands, error) {
	for gvk, d := range desks() {
		if gvk.Kind == kind {
			return gvk, d, nil
		}
	}
	return object.GVK{}, nil, fmt.Errorf("%s: truce knows no such kind of app", kind)
}

// fitted is the desk for a kind as the cluster's own CRD lets it write.
func (c *client) fitted(ctx context.Context, kind string) (object.GVK, dialect.Commands, error) {
	gvk, d, err := desk(kind)
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
	gvk, translate, err := translator(key)
	if err != nil {
		return dialect.Resources{}, err
	}
	out := dialect.Resources{}
	out.App, err = c.parts.engine.Live.Get(ctx, gvk, idOf(gvk, key))
	if err != nil {
		return out, fmt.Errorf("read %s: %w", key, err)
	}
	source := translate.App(out.App, app.Policy{}).Source
	for gvk := range kinds().Sources {
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
	gvk, d, err := desk(key.Kind)
	if err != nil {
		return dialect.Summary{}, err
	}
	cr, err := c.parts.engine.Live.Get(ctx, gvk, idOf(gvk, key))
	if err != nil {
		return dialect.Summary{}, fmt.Errorf("read %s: %w", key, err)
	}
	return d.Summarize(cr), nil
}
