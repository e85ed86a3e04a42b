// Package registry answers: which custom resources does truce read, and which dialect reads each of them?
//
// In: a kind.
// Out: what translates its custom resources, its sources and its commands.
// Promise: every kind that truce reads is listed here; what people call it, and who may name it, is elsewhere.
// Not here: the translations (dialect/flux, dialect/argocd), which of the kinds a cluster serves (controller).
package registry

import (
	"fmt"
	"github.com/truce-gitops/truce/internal/model/app"
	"slices"

	healthargocd "github.com/truce-gitops/truce/internal/decide/health/argocd"
	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
)

// The custom resources that truce reads.
var (
	Kustomizations     = object.GVK{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	GitRepositories    = object.GVK{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "GitRepository"}
	OCIRepositories    = object.GVK{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "OCIRepository"}
	Buckets            = object.GVK{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "Bucket"}
	helmRepositories   = object.GVK{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmRepository"}
	helmCharts         = object.GVK{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "HelmChart"}
	ExternalArtifacts  = object.GVK{Group: "source.toolkit.fluxcd.io", Version: "v1", Kind: "ExternalArtifact"}
	artifactGenerators = object.GVK{Group: "source.extensions.fluxcd.io", Version: "v1beta1", Kind: "ArtifactGenerator"}
	Providers          = object.GVK{Group: "notification.toolkit.fluxcd.io", Version: "v1beta3", Kind: "Provider"}
	Alerts             = object.GVK{Group: "notification.toolkit.fluxcd.io", Version: "v1beta3", Kind: "Alert"}
	helmReleases       = object.GVK{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	Applications       = object.GVK{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
)

// ValuesSelector selects the ConfigMaps and Secrets whose change runs the Kustomizations that name them.
const ValuesSelector = "reconcile.fluxcd.io/watch=Enabled" // the default of Flux's --watch-configs-label-selector

// CustomResources returns the kinds of custom resources that truce reads, apps first.
func CustomResources() []object.GVK {
	return []object.GVK{Kustomizations, helmReleases, Applications, GitRepositories, OCIRepositories, Buckets, helmRepositories, helmCharts, ExternalArtifacts, artifactGenerators}
}

// HealthRules returns the health checks by the name that an app asks for.
func HealthRules() map[health.Rules]health.Assessor {
	return map[health.Rules]health.Assessor{
		health.Reconciled: kstatus.Assessor{},
		health.Serving:    healthargocd.Assessor{Custom: kstatus.Assessor{}},
	}
}

// PruneRules returns what live objects may ask for when Git no longer names them. The marks of all tools hold for every app.
func PruneRules() optout.PruneRules {
	helm := optout.PruneRule{Key: "helm.sh/resource-policy", Value: "keep", Match: optout.Word, Effect: optout.Keep}
	return slices.Concat(flux.PruneRules, optout.PruneRules{helm}, argocd.PruneRules)
}

// Switches returns the fields by which people stop the controllers of custom resources.
func Switches() optout.Switches { return slices.Concat(flux.Switches, argocd.Switches) }

// Commands returns what edits the custom resources of each kind of app.
func Commands() map[object.GVK]dialect.Commands {
	return map[object.GVK]dialect.Commands{
		Kustomizations: flux.Commands{},
		helmReleases:   flux.HelmCommands{},
		{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}: argocd.Commands{},
	}
}

// NotificationProblems returns what is wrong with a Provider, an Alert or a Receiver; false for any other kind.
func NotificationProblems(o object.Object) ([]app.Problem, bool) {
	switch o.GVK() {
	case Providers:
		return flux.Notifications{}.Provider(o).Problems, true
	case Alerts:
		return flux.Notifications{}.Alert(o).Problems, true
	case flux.Receivers{}.Kind():
		return flux.Receivers{}.Receiver(o).Problems, true
	}
	return nil, false
}

// InlineSources returns what reads the sources that apps name themselves, by their kind.
func InlineSources() map[string]argocd.Repositories {
	return map[string]argocd.Repositories{"Repository": {}}
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
	for gvk, f := range AppDialects() {
		if gvk.Kind == key.Kind {
			return gvk, f, nil
		}
	}
	return object.GVK{}, nil, fmt.Errorf("%s: truce knows no such kind of app", key)
}

// AppDialects returns the kinds of apps, with what reads their custom resources.
func AppDialects() map[object.GVK]dialect.Apps {
	return map[object.GVK]dialect.Apps{Kustomizations: flux.Kustomizations{}, helmReleases: flux.HelmReleases{}, Applications: argocd.Applications{}}
}

// Sources returns the kinds of sources that are custom resources, with what reads them.
func Sources() map[object.GVK]dialect.Sources {
	return map[object.GVK]dialect.Sources{GitRepositories: flux.GitRepositories{}, OCIRepositories: flux.OCIRepositories{}, Buckets: flux.Buckets{}, helmRepositories: flux.HelmRepositories{}, helmCharts: flux.HelmCharts{}, ExternalArtifacts: flux.ExternalArtifacts{}, artifactGenerators: flux.ArtifactGenerators{}}
}
