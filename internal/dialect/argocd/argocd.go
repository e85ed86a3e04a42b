// Package argocd answers: what does this Argo CD Application ask for, and what is its status in Argo CD's form?
//
// In: AppProjects, and Applications (argoproj.io/v1alpha1) with sources in Git (plain, Kustomize, a Helm chart) and charts of repositories, in the cluster that they are in.
// Out: a project.Project; an app.App, the dialect.Source that the Application itself names, and a status with Argo CD's sync, health, resources,
// conditions, operationState and history.
// Promise: as dialect; each field is read by itself, so that one bad value hides no other; a field that would change what happens and
// that truce cannot do is a Problem, one that no schema knows is a Note.
// Not here: ApplicationSets, plugins, other clusters; what is done about an app (reconcile).
package argocd

import (
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
)

// Applications translates Application. Its zero value is ready.
type Applications struct{}

// Repositories reads the source that an Application names itself. Its zero value is ready.
type Repositories struct {
	// Key is that of the source which is meant, of an Application with several; zero for the first.
	Key app.SourceKey
}

var (
	_ dialect.Apps    = Applications{}
	_ dialect.Sources = Repositories{}
)

// The names of Argo CD's annotations and finalizers.
const (
	apiVersion  = "argoproj.io/v1alpha1"
	application = "Application"
	repository  = "Repository" // the kind of a source that an Application names itself

	theirs     = "argocd.argoproj.io/"
	refreshKey = theirs + "refresh" // normal or hard: look now
	skipKey    = theirs + "skip-reconcile"

	resourcesFinalizer = "resources-finalizer.argocd.argoproj.io"
	preDelete          = "pre-delete-finalizer.argocd.argoproj.io"
	postDelete         = "post-delete-finalizer.argocd.argoproj.io"
)
