package live

import (
	"strings"

	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
)

// bare are built-in kinds without any health of their own: their metadata tells all that must be known until something changes.
var bare = map[object.GVK]bool{
	{Kind: "ConfigMap"}: true, {Kind: "Secret"}: true, {Kind: "ServiceAccount"}: true, {Kind: "LimitRange"}: true,
	{Kind: "ResourceQuota"}:                            true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}: true, {Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}: true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}: true, {Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}: true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}: true, {Group: "scheduling.k8s.io", Kind: "PriorityClass"}: true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}: true, {Group: "coordination.k8s.io", Kind: "Lease"}: true,
}

// DepthOf returns how deep a kind is watched: whole where its health matters, metadata alone elsewhere.
func DepthOf(gvk object.GVK) Depth {
	gvk.Version = ""
	if bare[gvk] {
		return Metadata
	}
	return Full
}

// counted are built-in groups whose kinds' metadata.generation moves with every change of their spec. Kinds that have none,
// or one that does not move (PriorityClass), are not in it; of custom resources nobody knows (a CRD without status subresource counts status too, which is harmless).
var counted = map[string]bool{"apps": true, "batch": true, "policy": true, "autoscaling": true}

// TrustsGeneration reports whether an unchanged metadata.generation means an unchanged spec.
func TrustsGeneration(gvk object.GVK) bool {
	switch {
	case counted[gvk.Group]:
		return true
	case gvk.Group == "networking.k8s.io":
		return gvk.Kind == "Ingress" || gvk.Kind == "NetworkPolicy"
	case gvk.Group == "apiextensions.k8s.io":
		return true
	case gvk.Group == "" || strings.HasSuffix(gvk.Group, ".k8s.io"):
		return false
	}
	return false
}

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
