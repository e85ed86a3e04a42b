package view

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
)

// projects reads what bounds an app: AppProjects bound Applications. The commands write nothing that a project bounds: who may not list them reads that, and the
// controller heeds them.
func (c *Cluster) projects(ctx context.Context, key app.Key, how *controllerSettings) project.Known {
	kind, err := c.cluster.Resource(argocd.Projects{}.Kind())
	if errors.Is(err, live.ErrUnknownKind) {
		return project.Known{State: project.Unserved}
	}
	if err != nil {
		return project.Known{State: project.Refused, Err: err}
	}
	list, err := c.cluster.Dynamic().Resource(kind.GVR).List(ctx, metav1.ListOptions{})
	if err != nil { // who may read its own namespace alone
		list, err = c.cluster.Dynamic().Resource(kind.GVR).Namespace(key.Namespace).List(ctx, metav1.ListOptions{})
	}
	switch {
	case apierrors.IsForbidden(err):
		how.notes = append(how.notes, "what AppProjects permit is not known: you may not list them")
		return project.Known{State: project.Awaited}
	case err != nil:
		return project.Known{State: project.Refused, Err: fmt.Errorf("list AppProjects: %w", err)}
	}
	known := project.Known{State: project.Listed}
	for _, o := range list.Items {
		known.All = append(known.All, argocd.Projects{}.Project(o.Object))
	}
	return known
}

// readProjects reads what bounds an app, and what it has in common with others: the settings beside its project, or beside itself.
func (c *Cluster) readProjects(ctx context.Context, key app.Key, how *controllerSettings) {
	if key.Kind != registry.Applications.Kind {
		how.projects = project.Known{State: project.Unserved}
		return
	}
	how.projects, how.settings = c.projects(ctx, key, how), map[string]object.Object{}
	namespaces := map[string]bool{key.Namespace: true}
	for _, p := range how.projects.All {
		namespaces[p.Namespace] = true
	}
	gvk, name := argocd.Projects{}.Settings()
	for namespace := range namespaces {
		cm, err := nilIfAbsent(c.engine.Live.Get(ctx, gvk, object.ID{Kind: gvk.Kind, Namespace: namespace, Name: name}))
		if err != nil {
			how.notes = append(how.notes, fmt.Sprintf("what ConfigMap %s/%s says of projects and ignored fields is not known: %v", namespace, name, err))
			continue
		}
		how.projects.Globals = append(how.projects.Globals, argocd.Projects{}.Globals(cm)...)
		how.settings[namespace] = cm
	}
}
