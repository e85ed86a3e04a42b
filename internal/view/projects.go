package view

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/project"
)

// projects reads what bounds an app: AppProjects bound Applications.
func (c *Cluster) projects(ctx context.Context, key app.Key) project.Known {
	if key.Kind != registry.Applications.Kind {
		return project.Known{State: project.Unserved}
	}
	kind, err := c.cluster.Resource(argocd.Projects{}.Kind())
	if errors.Is(err, cluster.ErrUnknownKind) {
		return project.Known{State: project.Unserved}
	}
	if err != nil {
		return project.Known{State: project.Refused, Err: err}
	}
	list, err := c.cluster.Dynamic().Resource(kind.GVR).List(ctx, metav1.ListOptions{})
	if err != nil { // who may read its own namespace alone
		list, err = c.cluster.Dynamic().Resource(kind.GVR).Namespace(key.Namespace).List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		return project.Known{State: project.Refused, Err: fmt.Errorf("list AppProjects: %w", err)}
	}
	known := project.Known{State: project.Listed}
	settings := map[string]bool{}
	for _, o := range list.Items {
		known.All = append(known.All, argocd.Projects{}.Project(o.Object))
		settings[o.GetNamespace()] = true
	}
	gvk, name := argocd.Projects{}.Settings()
	for namespace := range settings {
		cm, err := nilIfAbsent(c.engine.Live.Get(ctx, gvk, object.ID{Kind: gvk.Kind, Namespace: namespace, Name: name}))
		if err != nil {
			return project.Known{State: project.Refused, Err: fmt.Errorf("read ConfigMap %s/%s: %w", namespace, name, err)}
		}
		known.Globals = append(known.Globals, argocd.Projects{}.Globals(cm)...)
	}
	return known
}
