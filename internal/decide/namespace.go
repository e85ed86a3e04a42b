package decide

import (
	"maps"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// namespaceManager owns the labels and annotations of a namespace that truce creates for an app. The namespace is none of the app's objects: it
// stays when the app is deleted.
const namespaceManager = "truce-home"

// PlanNamespace decides what to do about the namespace of an app's objects; live is nil where it does not exist.
func PlanNamespace(want policy.DefaultNamespace, live object.Object) Plan {
	if live != nil && hasMetadata(live, "labels", want.Labels) && hasMetadata(live, "annotations", want.Annotations) {
		return Plan{}
	}
	metadata, labels := map[string]any{"name": want.Name}, want.Labels
	if live == nil {
		labels = map[string]string{}
		maps.Copy(labels, want.FirstLabels)
		maps.Copy(labels, want.Labels)
	}
	for field, values := range map[string]map[string]string{"labels": labels, "annotations": want.Annotations} {
		if len(values) > 0 {
			metadata[field] = asAnyMap(values)
		}
	}
	body := object.Object{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
	return Plan{Steps: []Step{{Verb: Namespace, Body: body, Manager: namespaceManager, Reason: "the app's objects need their namespace"}}}
}

func hasMetadata(o object.Object, field string, want map[string]string) bool {
	for k, v := range want {
		if o.At("metadata", field, k) != v {
			return false
		}
	}
	return true
}

func asAnyMap(values map[string]string) map[string]any {
	out := make(map[string]any, len(values))
	for k, v := range values {
		out[k] = v
	}
	return out
}
