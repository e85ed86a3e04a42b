package flux

import (
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/front"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/reader"
)

// adoption reads how the Kustomization's objects pass between kustomize-controller and truce. With truce.dev/adopted: beside,
// spec.suspend is Flux's.
func (r *reading) adoption(cr object.Object, a *app.App) {
	how, _ := cr.Annotation(reader.AdoptedKey)
	problem, note := front.Adopt(a, how, app.Adoption{
		Manager: "kustomize-controller", Labels: map[string]string{nameLabel: cr.Name(), nsLabel: cr.Namespace()}, Inventory: written(cr),
	})
	if problem != "" {
		r.Problem("annotation "+reader.AdoptedKey, "%s, not %q", problem, how)
	}
	if note != "" {
		r.Note("%s", note)
	}
}

// written is status.inventory.
func written(cr object.Object) map[object.ID]string {
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
