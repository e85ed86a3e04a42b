package live

import (
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
)

// Fingerprint is a hash of everything whose change can mean that something of ours has changed: what we own, the generation (or,
// where that tells nothing, the resourceVersion), labels and annotations. It is the same for a whole object, its metadata
// alone, and the server's answer to an apply.
func Fingerprint(h field.Hasher, o object.Object) uint64 {
	meta := map[string]any{
		"labels": o.At("metadata", "labels"), "annotations": o.At("metadata", "annotations"), "uid": o.UID(), "ours": ours(o),
		"leaving": o.At("metadata", "deletionTimestamp") != nil,
	}
	if o.Generation() > 0 && TrustsGeneration(o.GVK()) {
		meta["generation"] = o.Generation()
	} else {
		meta["version"] = o.ResourceVersion()
	}
	return h.Value(meta)
}

// ours returns the fieldsV1 of our own apply entry, nil if there is none.
func ours(o object.Object) any {
	list, _ := o.At("metadata", "managedFields").([]any)
	for _, e := range list {
		m, _ := e.(map[string]any)
		if m["manager"] == field.Manager && m["operation"] == "Apply" && m["subresource"] == nil {
			return m["fieldsV1"]
		}
	}
	return nil
}
