// Package flux answers: what does this Flux custom resource ask for, and what is its status in Flux's form?
//
// In: Kustomizations (kustomize.toolkit.fluxcd.io/v1), HelmReleases (helm.toolkit.fluxcd.io/v2) and GitRepositories, OCIRepositories, Buckets, HelmRepositories, HelmCharts and ExternalArtifacts (source.toolkit.fluxcd.io/v1), with the fields of
// Kustomization that Flux lacks: ignoreDifferences, syncInterval, remediation, validation.
// Out: an app.App or a dialect.Source; a status with Flux's conditions, reasons and inventory.
// Promise: as dialect; each field is read by itself, so that one bad value hides no other; a field that would change what happens and
// that truce cannot do is a Problem, one that no schema knows is a Note.
// Not here: what is done about an app (reconcile).
package flux

import (
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// Kustomizations translates Kustomization. Its zero value is ready.
type Kustomizations struct{}

// GitRepositories translates GitRepository. Its zero value is ready.
type GitRepositories struct{}

var (
	_ dialect.Apps    = Kustomizations{}
	_ dialect.Sources = GitRepositories{}
)

// finalizer keeps a Kustomization until its objects are gone; Flux's own, so that either of the two can take it off.
const finalizer = "finalizers.fluxcd.io"

// ownFinalizer keeps a Kustomization that was adopted beside Flux: Flux takes its own finalizer off a suspended one, and prunes nothing.
const ownFinalizer = "truce.dev/finalizer"

// Answered is nothing: Flux's requests stay, and the status says which of them was handled.
func (Kustomizations) AnsweredRequests(object.Object, report.Report) []field.Pointer { return nil }

// The names of Flux's annotations and labels on custom resources and objects, and of ours that only a Kustomization has.
const (
	requestedAt      = "reconcile.fluxcd.io/requestedAt"
	nameLabel        = "kustomize.toolkit.fluxcd.io/name"
	nsLabel          = "kustomize.toolkit.fluxcd.io/namespace"
	ignoreKey        = reader.Ours + "ignore-differences"
	remediateKey     = reader.Ours + "remediation"
	kustomizeAPI     = "kustomize.toolkit.fluxcd.io/v1"
	sourceAPI        = "source.toolkit.fluxcd.io/v1"
	sourceGroup      = "source.toolkit.fluxcd.io/"
	kustomization    = "Kustomization"
	gitRepository    = "GitRepository"
	ociRepository    = "OCIRepository"
	bucket           = "Bucket"
	externalArtifact = "ExternalArtifact"
	helmRepository   = "HelmRepository"
	helmChart        = "HelmChart"
)
