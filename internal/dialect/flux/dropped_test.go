package flux

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

func TestWhatACRDLacksIsSaidWithWhatStandsIn(t *testing.T) {
	for want, fields := range map[string][]string{
		"": {"ignoreDifferences", "syncInterval", "remediation", "validation"},
		"the cluster's CustomResourceDefinition drops spec.syncInterval, spec.validation": {"ignoreDifferences", "remediation"},
		"the cluster's CustomResourceDefinition drops spec.remediation: use annotation truce.dev/remediation instead": {
			"ignoreDifferences", "syncInterval", "validation"},
		"the cluster's CustomResourceDefinition drops spec.ignoreDifferences, spec.syncInterval, spec.remediation, spec.validation: " +
			"use annotations truce.dev/ignore-differences and truce.dev/remediation instead": nil,
	} {
		props := map[string]any{}
		for _, f := range fields {
			props[f] = map[string]any{"x-kubernetes-preserve-unknown-fields": true}
		}
		schema := map[string]any{"properties": map[string]any{"spec": map[string]any{"properties": props}}}
		crd := object.Object{
			"metadata": map[string]any{"name": "kustomizations.kustomize.toolkit.fluxcd.io"},
			"spec":     map[string]any{"versions": []any{map[string]any{"name": "v1", "served": true, "schema": map[string]any{"openAPIV3Schema": schema}}}},
		}
		if got := (Definitions{}).DroppedHint(crd); got != want {
			t.Errorf("%v: %q, want %q", fields, got, want)
		}
		if crd["metadata"] = map[string]any{"name": "others.example.com"}; (Definitions{}).DroppedHint(crd) != "" {
			t.Error("another CRD lacks something")
		}
	}
}
