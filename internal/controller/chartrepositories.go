package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/chartfile"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ChartRepositories know how repositories of charts are reached: for a HelmRelease as the HelmRepository of its home says that has their URL, for an
// Application with the Secret of Argo CD there that is for that URL and its AppProject; else without credentials. Without a Cluster there are none.
type ChartRepositories struct{ Cluster *cluster.Client }

// SpecOf implements dependencies.Repositories.
func (r ChartRepositories) SpecOf(ctx context.Context, home object.ID, d chartfile.Dependency) (source.Spec, error) {
	out, err := d.Spec()
	switch {
	case err != nil || r.Cluster == nil:
		return out, err
	case home.Kind == registry.Applications.Kind:
		return r.asApplication(ctx, home, d)
	case home.Kind == "HelmRelease":
		return r.asRelease(ctx, home.Namespace, d, out)
	}
	return out, nil
}

// asApplication fetches a chart as if it were the source of an Application.
func (r ChartRepositories) asApplication(ctx context.Context, home object.ID, d chartfile.Dependency) (source.Spec, error) {
	read, cr := argocd.Repositories{}, argocd.ChartOf(home, d.Repository, d.Name, cmp.Or(d.Version, "*"))
	s := read.Source(cr)
	if err := refusalOf(s); err != nil {
		return source.Spec{}, err
	}
	return SourceSpecOf(ctx, r.Cluster, Wanted{From: read, CR: cr, Source: s})
}

// asRelease fetches a chart as the HelmRepository of its repository says, or without one as it is.
func (r ChartRepositories) asRelease(ctx context.Context, namespace string, d chartfile.Dependency, out source.Spec) (source.Spec, error) {
	kind, read := helmRepositories()
	cr, err := r.withURL(ctx, kind, namespace, chartfile.RepositoryAddress(d.Repository))
	if err != nil || cr == nil {
		return out, err
	}
	own := read.Source(cr)
	own.Key = app.SourceKey{Kind: own.Key.Kind, Namespace: namespace, Name: own.Key.Name, Chart: d.Name, Version: d.Version}
	if err := refusalOf(own); err != nil {
		return out, err
	}
	return SourceSpecOf(ctx, r.Cluster, Wanted{From: read, CR: cr, Source: own})
}

// helmRepositories is the kind of what names repositories of charts, and what reads it.
func helmRepositories() (object.GVK, dialect.Sources) {
	for kind, read := range registry.Sources() {
		if kind.Kind == "HelmRepository" {
			return kind, read
		}
	}
	return object.GVK{}, nil
}

// withURL returns the HelmRepository of a URL, the first by name; nil where there is none.
func (r ChartRepositories) withURL(ctx context.Context, kind object.GVK, namespace, url string) (object.Object, error) {
	served, err := r.Cluster.Resource(kind)
	if errors.Is(err, live.ErrUnknownKind) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := r.Cluster.Dynamic().Resource(served.GVR).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list HelmRepositories of %s: %w", namespace, err)
	}
	for _, u := range list.Items {
		cr := object.Object(u.Object)
		if text, _ := cr.At("spec", "url").(string); chartfile.RepositoryAddress(text) == url {
			return cr, nil
		}
	}
	return nil, nil
}
