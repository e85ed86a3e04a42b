package decide

import (
	"maps"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// namespaceManager owns the labels and annotations of a namespace that truce creates for an app. The namespace is none of the app's objects: it
// stays when the app is deleted.
const namespaceManager = "truce-home"

// PlanNamespace decides what to do about the namespace of an app's objects; live is nil where it does not exist.
func PlanNamespace(want policy.DefaultNamespace, live object.Object) Plan {
	if live != nil && hasMetadata(live, "labels", want.Labels) && hasMetadata(live, "annotations", want.Annotations) && !hasDropped(want, live) {
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

// hasDropped reports whether a namespace still has a label or an annotation that was wanted before. Where nothing is wanted any more, all stays, as in
// Argo CD.
func hasDropped(want policy.DefaultNamespace, live object.Object) bool {
	if !want.HasMetadata() {
		return false
	}
	owners, err := ownership.Entries(live)
	if err != nil {
		return false // what truce has applied is not known
	}
	applied := ownership.ApplyEntry(owners, namespaceManager)
	for fields, wanted := range map[string]map[string]string{"labels": want.Labels, "annotations": want.Annotations} {
		there, _ := live.At("metadata", fields).(map[string]any)
		for k := range there {
			_, keeps := wanted[k]
			_, isFirst := want.FirstLabels[k]
			if !keeps && !isFirst && applied.Has(field.NewPath("metadata", fields, k)) {
				return true
			}
		}
	}
	return false
}

func asAnyMap(values map[string]string) map[string]any {
	out := make(map[string]any, len(values))
	for k, v := range values {
		out[k] = v
	}
	return out
}
