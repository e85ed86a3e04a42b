package reader

import (
	"cmp"

	"github.com/truce-gitops/truce/internal/object"
)

// writers are the field managers of statuses, by the names that people know them by.
var writers = map[string]string{
	"kustomize-controller": "Flux", "argocd-application-controller": "Argo CD", "argocd-controller": "Argo CD", "truce-controller": "truce",
}

// StatusBy is who has written the status of a custom resource last, by managedFields: Flux, Argo CD, truce, or else a field manager;
// empty for nobody.
func StatusBy(cr object.Object) string {
	entries, _ := cr.At("metadata", "managedFields").([]any)
	by, newest := "", ""
	for _, e := range entries {
		m, _ := e.(map[string]any)
		o := object.Object(m)
		if o.At("fieldsV1", "f:status") == nil {
			continue
		}
		if at, _ := m["time"].(string); by == "" || at >= newest { // RFC 3339 in UTC sorts as text
			newest = at
			by, _ = m["manager"].(string)
		}
	}
	return cmp.Or(writers[by], by)
}
