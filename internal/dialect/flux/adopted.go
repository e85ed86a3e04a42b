package flux

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// adoption reads how the Kustomization's objects pass between kustomize-controller and truce. With truce.dev/adopted: beside,
// spec.suspend is Flux's.
func (r *reading) adoption(cr object.Object, a *app.App) {
	how, passage := r.Adopted(cr, app.Adoption{
		Manager: "kustomize-controller", Labels: map[string]string{nameLabel: cr.Name(), nsLabel: cr.Namespace()}, Inventory: lastApplied(cr),
	})
	problem, note := dialect.ApplyAdoption(a, how, passage)
	if a.Adoption.Mode == app.TakeBeside && a.GuardFinalizer != "" {
		a.GuardFinalizer = a.OwnFinalizer
	}
	if problem != "" {
		r.Problem("annotation "+reader.AdoptedKey, "%s, not %q", problem, how)
	}
	if note != "" {
		r.Note("%s", note)
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

// adoptedCondition says with status False that kustomize-controller has an adopted Kustomization again.
const (
	adoptedCondition = "Adopted"
	otherWorks       = "OtherControllerWorks"
)

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
