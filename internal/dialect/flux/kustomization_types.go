package flux

import (
	"github.com/fluxcd/pkg/apis/kustomize"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
)

// This file is the source of deploy/crds (see deploy/embed.go); the comments of fields are what `kubectl explain` prints.
//
// +groupName=kustomize.toolkit.fluxcd.io
// +versionName=v1

// +kubebuilder:storageversion
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ks,categories=all;fluxcd;fluxcd-appliers
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description=""
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status",description=""
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",description=""
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"

// Kustomization keeps what a directory of a source describes in sync with the cluster.
// It is Flux's, with the fields ignoreDifferences, syncInterval, remediation and
// validation besides, and two that Flux has removed.
type Kustomization struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec KustomizationSpec `json:"spec,omitempty"`
	// +kubebuilder:default:={"observedGeneration":-1}
	Status kustomizev1.KustomizationStatus `json:"status,omitempty"`
}

// KustomizationSpec is Flux's, and what Flux lacks.
type KustomizationSpec struct {
	kustomizev1.KustomizationSpec `json:",inline"`

	// IgnoreDifferences lists fields that are not Git's: they are left out of
	// what is applied, and whatever they hold in the cluster stays.
	// It means the same as ignore, in the form of JSON patches.
	// +optional
	IgnoreDifferences []IgnoreDifference `json:"ignoreDifferences,omitempty"`

	// SyncInterval replaces interval for the full check and for the look for
	// new commits. Drift that is watched is answered at once whatever it says.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	SyncInterval *metav1.Duration `json:"syncInterval,omitempty"`

	// Remediation says whether drift is corrected. Without it drift is
	// corrected.
	// +optional
	Remediation *Remediation `json:"remediation,omitempty"`

	// Validation says when objects are checked before the first of a revision
	// is applied: 'client' checks all against the server's published schema,
	// 'server' by a dry run; either refuses the whole revision. 'none', the
	// default, leaves it to the server to check each object as it is applied.
	// +kubebuilder:validation:Enum=none;client;server
	// +optional
	Validation string `json:"validation,omitempty"`

	// PatchesStrategicMerge are strategic merge patches, applied before
	// patches. Flux has removed the field; use patches.
	// +optional
	PatchesStrategicMerge []apiextensionsv1.JSON `json:"patchesStrategicMerge,omitempty"`

	// PatchesJSON6902 are JSON patches with their targets, applied after
	// patches. Flux has removed the field; use patches.
	// +optional
	PatchesJSON6902 []kustomize.JSON6902Patch `json:"patchesJson6902,omitempty"`
}

// IgnoreDifference says that some fields of some objects are not Git's.
type IgnoreDifference struct {
	// Target selects the objects. Group, version, kind, name and namespace are
	// anchored regular expressions. Without a target the rule is about all.
	// +optional
	Target *kustomize.Selector `json:"target,omitempty"`

	// JSONPatches name the fields. Only the operation 'remove' has a meaning.
	// +required
	JSONPatches []kustomize.JSON6902 `json:"jsonPatches"`
}

// Remediation says whether drift is corrected, and how often.
type Remediation struct {
	// Remediate corrects drift if true. If false or absent, drift is reported
	// and left alone.
	// +optional
	Remediate *bool `json:"remediate,omitempty"`

	// RemediationInterval is the least time between two corrections of one
	// field. Defaults to correcting at once.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern="^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"
	// +optional
	RemediationInterval *metav1.Duration `json:"remediationInterval,omitempty"`
}
