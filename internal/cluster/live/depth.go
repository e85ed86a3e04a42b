package live

import "github.com/truce-gitops/truce/internal/model/object"

// bare are built-in kinds without any health of their own: their metadata has all that must be known until something
// changes. Of Secrets it is all that ever may arrive.
var bare = map[object.GVK]bool{
	{Kind: "ConfigMap"}: true, {Kind: "Secret"}: true, {Kind: "ServiceAccount"}: true, {Kind: "LimitRange"}: true,
	{Kind: "ResourceQuota"}: true, {Kind: "PodTemplate"}: true,
	{Group: "apps", Kind: "ControllerRevision"}:                                       true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                                true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:                               true,
	{Group: "networking.k8s.io", Kind: "IngressClass"}:                                true,
	{Group: "scheduling.k8s.io", Kind: "PriorityClass"}:                               true,
	{Group: "storage.k8s.io", Kind: "StorageClass"}:                                   true,
	{Group: "storage.k8s.io", Kind: "CSIDriver"}:                                      true,
	{Group: "node.k8s.io", Kind: "RuntimeClass"}:                                      true,
	{Group: "coordination.k8s.io", Kind: "Lease"}:                                     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
}

// DepthOf returns how deep a kind is watched: whole where its health matters or may matter, metadata alone elsewhere.
func DepthOf(gvk object.GVK) Depth {
	gvk.Version = ""
	if bare[gvk] {
		return Metadata
	}
	return Full
}

// counted are built-in kinds whose metadata.generation moves with every change of their spec, measured on a real API server
// (TestTrustedGenerationsMove). Kinds that have none, or one that does not move (PriorityClass), are not in it; nor are custom
// resources, since an aggregated API may not serve them.
var counted = map[object.GVK]bool{
	{Group: "apps", Kind: "Deployment"}:                               true,
	{Group: "apps", Kind: "StatefulSet"}:                              true,
	{Group: "apps", Kind: "DaemonSet"}:                                true,
	{Group: "apps", Kind: "ReplicaSet"}:                               true,
	{Group: "batch", Kind: "Job"}:                                     true,
	{Group: "batch", Kind: "CronJob"}:                                 true,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    true,
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:           true,
	{Group: "networking.k8s.io", Kind: "Ingress"}:                     true,
	{Group: "networking.k8s.io", Kind: "NetworkPolicy"}:               true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
}

// TrustsGeneration reports whether an unchanged metadata.generation means an unchanged spec.
func TrustsGeneration(gvk object.GVK) bool {
	gvk.Version = ""
	return counted[gvk]
}
