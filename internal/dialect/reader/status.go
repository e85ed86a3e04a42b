package reader

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
)

// writers are the field managers of objects and statuses, by the names that people know them by.
var writers = map[string]string{
	"kustomize-controller": "Flux", "helm-controller": "Flux", "argocd-application-controller": "Argo CD", "argocd-controller": "Argo CD", "truce-controller": "truce",
}

// ObserverManager is the field manager of the conditions that truce keeps in a status of another controller's.
const ObserverManager = "truce-observer"

// StatusWriter is who has written the status of a custom resource last, by managedFields: Flux, Argo CD, truce, or else a field manager;
// empty if not known. It is the owner of the field of the status that each of them writes each time, where there is one, and else that of the
// youngest entry: where the status is no subresource, that may be the entry of one who has written an annotation.
func StatusWriter(cr object.Object, each string) string {
	entries, _ := cr.At("metadata", "managedFields").([]any)
	last, newest := "", ""
	for _, e := range entries {
		m, _ := e.(map[string]any)
		o := object.Object(m)
		by, _ := m["manager"].(string)
		switch {
		case o.At("fieldsV1", "f:status") == nil, by == ObserverManager:
			continue
		case o.At("fieldsV1", "f:status", "f:"+each) != nil:
			return ControllerOf(by)
		}
		if at, _ := m["time"].(string); last == "" || at >= newest { // RFC 3339 in UTC sorts as text
			last, newest = by, at
		}
	}
	return ControllerOf(last)
}

// WithCondition returns the conditions of a custom resource with the one given in place of that of the same type, and without that where it
// is nil, nor those of the outdated types; false where they are so already. All others stay as they are, of any writer.
func WithCondition(cr object.Object, kind string, c map[string]any, outdated ...string) ([]any, bool) {
	had, _ := cr.At("status", "conditions").([]any)
	out, missing := []any{}, c != nil
	for _, v := range had {
		m, _ := v.(map[string]any)
		name, _ := m["type"].(string)
		switch {
		case name == kind && c != nil && m["message"] == c["message"]:
			out, missing = append(out, v), false
		case name != kind && !slices.Contains(outdated, name):
			out = append(out, v)
		}
	}
	if missing {
		out = append(out, c)
	}
	return out, missing || len(out) != len(had)
}
