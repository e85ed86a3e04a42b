// Package registry answers: which custom resources does truce read, and which dialect reads each of them?
//
// In: a kind.
// Out: what translates its custom resources, its sources and its commands.
// Promise: every kind that truce reads is listed here, and nowhere else.
// Not here: the translations (dialect/flux, dialect/argocd), which of the kinds a cluster serves (controller).
package registry

import (
	"fmt"
	"github.com/truce-gitops/truce/internal/model/app"

	healthargocd "github.com/truce-gitops/truce/internal/decide/health/argocd"
	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// The custom resources that truce reads.
var (
	Kustomizations  = object.GVK{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	GitRepositories = object.GVK{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}
	Applications    = object.GVK{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
)

// HealthRules returns the health checks by the name that an app asks for.
func HealthRules() map[health.Rules]health.Assessor {
	return map[health.Rules]health.Assessor{
		health.Reconciled: kstatus.Assessor{},
		health.Serving:    healthargocd.Assessor{Custom: kstatus.Assessor{}},
	}
}

// Commands returns what edits the custom resources of each kind of app.
func Commands() map[object.GVK]dialect.Commands {
	return map[object.GVK]dialect.Commands{
		Kustomizations: flux.Commands{},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}: argocd.Commands{},
	}
}

// InlineSources returns what reads the sources that apps name themselves, by their kind.
func InlineSources() map[string]dialect.Sources {
	return map[string]dialect.Sources{"Repository": argocd.Repositories{}}
}

// CommandsFor returns what edits the custom resources of an app's kind.
func CommandsFor(kind string) (object.GVK, dialect.Commands, error) {
	for gvk, d := range Commands() {
		if gvk.Kind == kind {
			return gvk, d, nil
		}
	}
	return object.GVK{}, nil, fmt.Errorf("%s: truce knows no such kind of app", kind)
}

// AppsFor returns what reads the custom resources of an app's kind.
func AppsFor(key app.Key) (object.GVK, dialect.Apps, error) {
	for gvk, f := range Apps() {
		if gvk.Kind == key.Kind {
			return gvk, f, nil
		}
	}
	return object.GVK{}, nil, fmt.Errorf("%s: truce knows no such kind of app", key)
}

// Apps returns the kinds of apps, with what reads their custom resources.
func Apps() map[object.GVK]dialect.Apps {
	return map[object.GVK]dialect.Apps{Kustomizations: flux.Kustomizations{}, Applications: argocd.Applications{}}
}

// Sources returns the kinds of sources that are custom resources, with what reads them.
func Sources() map[object.GVK]dialect.Sources {
	return map[object.GVK]dialect.Sources{GitRepositories: flux.GitRepositories{}}
}
