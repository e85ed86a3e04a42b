package flux

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// adoption reads how an app's objects pass between one of Flux's controllers and truce. With truce.dev/adopted: beside, spec.suspend is Flux's.
func (r *reading) adoption(cr object.Object, a *app.App, passage policy.Adoption) {
	how, passage := r.Adopted(cr, passage)
	problem, note := dialect.ApplyAdoption(a, how, passage)
	if a.Adoption.Mode == policy.TakeBeside && a.GuardFinalizer != "" {
		a.GuardFinalizer = a.OwnFinalizer
	}
	if problem != "" {
		r.Problem("annotation "+reader.AdoptedKey, "%s, not %q", problem, how)
	}
	if note != "" {
		r.Note("%s", note)
	}
}

// ofKustomization is what kustomize-controller marks the objects of a Kustomization by.
func ofKustomization(cr object.Object) policy.Adoption {
	return policy.Adoption{Manager: "kustomize-controller", Inventory: lastApplied(cr), Labels: map[string]string{nameLabel: cr.Name(), nsLabel: cr.Namespace()}}
}

// ofRelease is what helm-controller, and Helm itself, mark the objects of a release by. helm-controller lists the definitions of the directory crds
// beside the objects of the release, and deletes them neither with a new version of the chart nor with the release (internal/inventory of
// helm-controller v1.6): they are not taken into the app's record, nor are those of templates, which nothing distinguishes from them there.
func ofRelease(cr object.Object, a app.App) policy.Adoption {
	listed := lastApplied(cr)
	maps.DeleteFunc(listed, func(id object.ID, _ string) bool {
		return id.Group == "apiextensions.k8s.io" && id.Kind == "CustomResourceDefinition"
	})
	return policy.Adoption{
		Manager: "helm-controller", Inventory: listed, Labels: map[string]string{helmNameLabel: cr.Name(), helmNSLabel: cr.Namespace()},
		Release: map[string]string{releaseNameKey: a.Release.Name, releaseNamespaceKey: a.Release.Namespace},
	}
}

// lastApplied is status.inventory.
func lastApplied(cr object.Object) map[object.ID]string {
	list, _ := cr.At("status", "inventory", "entries").([]any)
	out := map[object.ID]string{}
	for _, v := range list {
		e, _ := v.(map[string]any)
		text, _ := e["id"].(string)
		version, _ := e["v"].(string)
		if id, ok := parseEntry(text); ok && version != "" {
			out[id] = version
		}
	}
	return out
}

// adoptedCondition says with status False that Flux has an adopted app again.
const (
	adoptedCondition = "Adopted"
	otherWorks       = "OtherControllerWorks"
)

// Observed is that of Kustomizations.
func (HelmReleases) Observed(cr object.Object, a app.App, now time.Time) ([]any, bool) {
	return Kustomizations{}.Observed(cr, a, now)
}

// Observed returns the conditions of a Kustomization whose status is Flux's: as they are, but for the one that says that Flux has an adopted
// one again. It is false where nothing is to be written.
func (Kustomizations) Observed(cr object.Object, a app.App, now time.Time) ([]any, bool) {
	if a.Adoption.Lost == "" {
		return reader.WithCondition(cr, adoptedCondition, nil)
	}
	return reader.WithCondition(cr, adoptedCondition, map[string]any{
		"type": adoptedCondition, "status": string(metav1.ConditionFalse), "reason": otherWorks, "message": a.Adoption.Lost,
		"observedGeneration": cr.Generation(), "lastTransitionTime": now.UTC().Format(time.RFC3339),
	})
}
