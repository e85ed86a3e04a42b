package desired

import (
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// The waves. Only the first is waited for: what it makes is needed before anything else can be sent.
const (
	// FirstWave holds what other objects need in order to exist at all.
	FirstWave = 0
	dataWave  = 1 // what pods read when they start
	workWave  = 2
	gateWave  = 3 // what stands in the way of later writes
)

var waveOf = map[string]int{
	"Namespace": FirstWave, "CustomResourceDefinition": FirstWave,
	"ServiceAccount": dataWave, "ConfigMap": dataWave, "Secret": dataWave, "PersistentVolumeClaim": dataWave,
	"PersistentVolume": dataWave, "Service": dataWave, "Role": dataWave, "RoleBinding": dataWave, "ClusterRole": dataWave,
	"ClusterRoleBinding": dataWave, "ResourceQuota": dataWave, "LimitRange": dataWave, "HorizontalPodAutoscaler": dataWave,
	"NetworkPolicy": dataWave, "ValidatingAdmissionPolicy": gateWave, "ValidatingAdmissionPolicyBinding": gateWave,
	"MutatingAdmissionPolicy": gateWave, "MutatingAdmissionPolicyBinding": gateWave,
	"ValidatingWebhookConfiguration": gateWave, "MutatingWebhookConfiguration": gateWave, "APIService": gateWave,
}

// WaveOfKind returns the kind's wave. What is made first goes last.
func WaveOfKind(gvk object.GVK) int {
	if w, ok := waveOf[gvk.Kind]; ok && builtIn(gvk.Group) {
		return w
	}
	if strings.HasSuffix(gvk.Kind, "Class") && builtIn(gvk.Group) {
		return dataWave
	}
	if gvk.Group == "argoproj.io" && gvk.Kind == "AppProject" { // without it the Applications that name it are refused
		return dataWave
	}
	return workWave
}

// builtIn reports whether the API group is Kubernetes' own, where a kind's name is enough to know it.
func builtIn(group string) bool { return object.IsBuiltIn(group) }
