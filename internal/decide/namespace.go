package decide

import (
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
	if live != nil && hasMetadata(live, "labels", want.Labels) && hasMetadata(live, "annotations", want.Annotations) {
		return Plan{}
	}
	labels, annotations := want.FirstLabels, map[string]string{}
	if live != nil {
		labels, annotations = keptMetadata(live, "labels"), keptMetadata(live, "annotations")
	}
	metadata := map[string]any{"name": want.Name}
	for field, values := range map[string]map[string]any{"labels": joinMetadata(labels, want.Labels), "annotations": joinMetadata(annotations, want.Annotations)} {
		if len(values) > 0 {
			metadata[field] = values
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

// keptMetadata are the labels or annotations of a namespace that truce has applied before: those of other apps in it stay, and those that are wanted no more.
func keptMetadata(live object.Object, fields string) map[string]string {
	out := map[string]string{}
	owners, err := ownership.Entries(live)
	if err != nil {
		return out // what truce has applied is not known
	}
	applied := ownership.ApplyEntry(owners, namespaceManager)
	there, _ := live.At("metadata", fields).(map[string]any)
	for k, v := range there {
		if text, ok := v.(string); ok && applied.Has(field.NewPath("metadata", fields, k)) {
			out[k] = text
		}
	}
	return out
}

// joinMetadata is what is kept with what is wanted, which wins.
func joinMetadata(kept, wanted map[string]string) map[string]any {
	out := map[string]any{}
	for _, values := range []map[string]string{kept, wanted} {
		for k, v := range values {
			out[k] = v
		}
	}
	return out
}
