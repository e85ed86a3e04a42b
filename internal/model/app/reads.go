package app

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/variables"
)

// ReadsAny reports whether the build of the app needs a ConfigMap or Secret of the cluster.
func (a App) ReadsAny() bool {
	return len(a.PostBuild.From) > 0 || a.Decryption.Secret != "" || a.Release != nil && len(a.Release.From) > 0
}

// Reads reports whether the build of the app needs the ConfigMap or Secret of a name in its namespace.
func (a App) Reads(kind, name string) bool {
	named := func(r variables.Reference) bool { return r.Kind == kind && r.Name == name }
	chart := func(r release.Reference) bool { return r.Kind == kind && r.Name == name }
	if a.Release != nil && slices.ContainsFunc(a.Release.From, chart) {
		return true
	}
	return kind == "Secret" && name == a.Decryption.Secret || slices.ContainsFunc(a.PostBuild.From, named)
}
