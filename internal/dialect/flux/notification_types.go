package flux

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// notificationStatus says whether messages go out. Flux's own API of these kinds has no status.
type notificationStatus struct {
	// ObservedGeneration is the generation that the conditions are about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions hold Ready.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
