package flux

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// ownFields are the fields of a Kustomization that Flux's own CRD does not have. [] steps into a list.
var ownFields = []string{
	"spec.ignoreDifferences", "spec.ignoreDifferences.[].target", "spec.ignoreDifferences.[].jsonPatches",
	"spec.ignoreDifferences.[].jsonPatches.[].op", "spec.ignoreDifferences.[].jsonPatches.[].path",
	"spec.syncInterval",
	"spec.remediation", "spec.remediation.remediate", "spec.remediation.remediationInterval",
	"spec.validation",
}

// DroppedFields returns which fields that truce reads the API server would silently drop from a Kustomization, given the
// CustomResourceDefinition that it serves: the topmost ones, in the order of the documentation. For another CRD it is nil.
// Where it drops them, the annotations truce.dev/ignore-differences and truce.dev/remediation serve instead.
func (Definitions) DroppedFields(crd object.Object) []string {
	if crd.Name() != "kustomizations.kustomize.toolkit.fluxcd.io" {
		return nil
	}
	schema := servedSchema(crd, "v1")
	var out []string
	for _, f := range ownFields {
		parent := slices.ContainsFunc(out, func(gone string) bool { return strings.HasPrefix(f, gone+".") })
		if !parent && !storesField(schema, strings.Split(f, ".")) {
			out = append(out, f)
		}
	}
	return out
}

// servedSchema returns the schema of a version, nil if it is not served.
func servedSchema(crd object.Object, version string) map[string]any {
	versions, _ := crd.At("spec", "versions").([]any)
	for _, v := range versions {
		m, _ := v.(map[string]any)
		if m["name"] == version && m["served"] == true {
			schema, _ := object.Object(m).At("schema", "openAPIV3Schema").(map[string]any)
			return schema
		}
	}
	return nil
}

// storesField reports whether the server stores a field under a structural schema.
func storesField(schema map[string]any, steps []string) bool {
	for _, step := range steps {
		if schema["x-kubernetes-preserve-unknown-fields"] == true {
			return true
		}
		next := "items"
		if step != "[]" {
			props, _ := schema["properties"].(map[string]any)
			schema, next = props, step
		}
		schema, _ = schema[next].(map[string]any)
		if schema == nil {
			return false
		}
	}
	return true
}

// annotationFor are the annotations that serve where a field is dropped.
var annotationFor = map[string]string{"spec.ignoreDifferences": ignoreKey, "spec.remediation": remediateKey}

// Definitions knows the CRDs of Flux's kinds.
type Definitions struct{}

// DroppedHint says in a sentence which fields a CRD drops, and which annotations serve instead; empty where none is dropped.
func (Definitions) DroppedHint(crd object.Object) string {
	dropped := Definitions{}.DroppedFields(crd)
	if len(dropped) == 0 {
		return ""
	}
	var instead []string
	for _, f := range dropped {
		top := strings.Join(strings.SplitN(f, ".", 3)[:2], ".")
		if key := annotationFor[top]; key != "" && !slices.Contains(instead, key) {
			instead = append(instead, key)
		}
	}
	note := "the cluster's CustomResourceDefinition drops " + strings.Join(dropped, ", ")
	switch len(instead) {
	case 0:
		return note
	case 1:
		return note + ": use annotation " + instead[0] + " instead"
	}
	return note + ": use annotations " + strings.Join(instead, " and ") + " instead"
}
