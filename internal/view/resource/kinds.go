package resource

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Kind is a kind of custom resource of Flux or Argo CD, with the words for it on a command line.
type Kind struct {
	object.GVK
	Singular string   // kustomization
	Plural   string   // kustomizations, as in the API
	Short    []string // ks
	// Source is flux's word for it below `sources`, such as git; empty for what is no source.
	Source string
	// Passive says that a custom resource of this kind is written by another controller: it is neither requested nor suspended.
	Passive bool
	// Unrequested says that nothing takes requests of a custom resource of this kind, which can be suspended: there is no run of it to wait for.
	Unrequested bool
	// Annotated says that a custom resource of this kind is suspended by an annotation of its own API, and has no spec.suspend.
	Annotated bool
	// Notifies says that it is about messages or webhooks, and no source or app.
	Notifies bool
	// App says that truce's commands about apps know it.
	App bool
}

// Words returns the words that name the kind on a command line of flux: kustomization, or source git.
func (k Kind) Words() []string {
	if k.Source != "" {
		return []string{"source", k.Source}
	}
	return []string{k.Singular}
}

// Resource returns the kind as kubectl names it without doubt: kustomizations.kustomize.toolkit.fluxcd.io.
func (k Kind) Resource() string { return k.Plural + "." + k.Group }

// AllKinds returns the kinds that commands show and steer, in the order of a list of all: sources, apps, then what is about messages.
func AllKinds() []Kind {
	flux := func(group, version, kind string) object.GVK {
		return object.GVK{Group: group + ".toolkit.fluxcd.io", Version: version, Kind: kind}
	}
	return []Kind{
		{GVK: registry.GitRepositories, Singular: "gitrepository", Plural: "gitrepositories", Short: []string{"gitrepo"}, Source: "git"},
		{GVK: registry.OCIRepositories, Singular: "ocirepository", Plural: "ocirepositories", Short: []string{"ocirepo"}, Source: "oci"},
		{GVK: registry.Buckets, Singular: "bucket", Plural: "buckets", Source: "bucket"},
		{GVK: flux("source", "v1", "HelmRepository"), Singular: "helmrepository", Plural: "helmrepositories", Short: []string{"helmrepo"}, Source: "helm"},
		{GVK: flux("source", "v1", "HelmChart"), Singular: "helmchart", Plural: "helmcharts", Short: []string{"hc"}, Source: "chart"},
		{GVK: registry.ExternalArtifacts, Singular: "externalartifact", Plural: "externalartifacts", Source: "external", Passive: true},
		{GVK: object.GVK{Group: "source.extensions.fluxcd.io", Version: "v1beta1", Kind: "ArtifactGenerator"}, Singular: "artifactgenerator", Plural: "artifactgenerators", Short: []string{"ag"}, Source: "generator", Annotated: true},
		{GVK: flux("helm", "v2", "HelmRelease"), Singular: "helmrelease", Plural: "helmreleases", Short: []string{"hr"}, App: true},
		{GVK: registry.Kustomizations, Singular: "kustomization", Plural: "kustomizations", Short: []string{"ks"}, App: true},
		{GVK: registry.Applications, Singular: "application", Plural: "applications", Short: []string{"app", "apps"}, App: true},
		{GVK: registry.Providers, Singular: "provider", Plural: "providers", Short: []string{"alert-provider", "alert-providers"}, Unrequested: true, Notifies: true},
		{GVK: registry.Alerts, Singular: "alert", Plural: "alerts", Unrequested: true, Notifies: true},
		{GVK: flux("notification", "v1", "Receiver"), Singular: "receiver", Plural: "receivers", Notifies: true},
	}
}

// FindKind returns the kind that a word names as kubectl takes it: its singular, plural or short name, or its kind, in any case.
func FindKind(word string) (Kind, bool) {
	word = strings.ToLower(word)
	for _, k := range AllKinds() {
		if word == k.Singular || word == k.Plural || word == k.Resource() || slices.Contains(k.Short, word) {
			return k, true
		}
	}
	return Kind{}, false
}

// KindNamed returns the kind of that name, such as Kustomization.
func KindNamed(kind string) (Kind, bool) {
	i := slices.IndexFunc(AllKinds(), func(k Kind) bool { return k.Kind == kind })
	if i < 0 {
		return Kind{}, false
	}
	return AllKinds()[i], true
}
