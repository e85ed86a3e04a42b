package rules

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/schema"
	"github.com/truce-gitops/truce/internal/render/desired"
)

func wrongType() rule {
	return rule{Rule: Rule{
		ID: "wrong-type", Severity: Error,
		Title: "a value of another type than its field has",
		Reason: "The server refuses the object as a whole: nothing of it is applied, and the revision does not become ready. YAML makes it easy: 8080 and " +
			"true without quotes are a number and a boolean, also in the data of a ConfigMap, in the environment of a container, in labels and " +
			"annotations, where the API has strings.",
		Remedy: "Put numbers and booleans in quotes where a string is wanted, and take the quotes away where a number or boolean is.",
		Source: "Kubernetes' own kinds as of 1.37 (k8s.io/client-go/applyconfigurations), others by the CRDs in the repository; measured on kube-apiserver 1.37: " +
			"failed to create typed patch object: expected string, got 8080; expected numeric, got string; quantities must match the regular expression",
	}, check: (*checker).wrongType}
}

func (j *checker) wrongType() []Finding {
	out := j.walked().mistyped
	metadata := j.schemas.Metadata()
	for u, o := range j.objects() {
		if _, known := j.schemas.Of(o.GVK); !known {
			walkValues(spot{path: field.NewPath("metadata"), kind: metadata, value: o.Data.At("metadata")}, func(at spot) {
				out = append(out, j.mistypedAt(u, o, at)...)
			})
		}
	}
	return out
}

func (j *checker) mistypedAt(u discover.Unit, o desired.Object, at spot) []Finding {
	is, want := mismatch(at)
	if want == "" || isTemplated(o) {
		return nil
	}
	return []Finding{{
		Unit: u.Name(), Object: o.ID, Path: at.path, Place: j.files.place(u, o, at.path),
		Message: fmt.Sprintf("%s %s: %s is %s, and the field wants %s: the server refuses the object", o.ID.Kind, o.ID.Name, field.PathString(at.path), is, want),
		Remedy:  retyped(is, want),
	}}
}

// names of types in messages.
const (
	aString   = "a string"
	aNumber   = "a number"
	aBoolean  = "a boolean"
	aList     = "a list"
	aMap      = "a map"
	aQuantity = "a quantity such as 100m or 1Gi"
)

var scalarNames = map[schema.ScalarKind]string{schema.String: aString, schema.Number: aNumber, schema.Boolean: aBoolean}

// mismatch says what the value is and what its field wants; empty where they agree, where that is not known, and for what is filled in later.
func mismatch(at spot) (is, want string) {
	is = typeName(at.value)
	if text, ok := at.value.(string); ok && isPlaceholder(text) && text != "" || at.value == nil || ofServer(at.path) {
		return "", ""
	}
	switch form := at.kind.Form(); form {
	case schema.Record, schema.Map:
		want = aMap
	case schema.List, schema.Set, schema.Keyed:
		want = aList
	case schema.Scalar:
		want = scalarNames[at.kind.Scalar()]
	case schema.Quantity:
		return is, quantityWanted(at.value)
	case schema.Any:
	}
	if is == want {
		return "", ""
	}
	return is, want
}

// quantityWanted is what a field of a quantity wants instead of the value; empty if it is one.
func quantityWanted(v any) string {
	switch v := v.(type) {
	case int64, float64:
		return ""
	case string:
		if _, err := resource.ParseQuantity(strings.TrimSpace(v)); err == nil {
			return ""
		}
	}
	return aQuantity
}

func typeName(v any) string {
	switch v.(type) {
	case string:
		return aString
	case bool:
		return aBoolean
	case []any:
		return aList
	case map[string]any:
		return aMap
	}
	return aNumber
}

// ofServer reports whether only the server writes there, so that nothing that an apply says of it is kept.
func ofServer(p field.Path) bool {
	if len(p) == 0 || p[0].FieldName == nil {
		return false
	}
	return *p[0].FieldName == "status" || len(p) > 1 && *p[0].FieldName == "metadata" && p[1].FieldName != nil &&
		slices.Contains([]string{"creationTimestamp", "managedFields", "resourceVersion", "generation"}, *p[1].FieldName)
}

func retyped(is, want string) string {
	switch {
	case want == aString && (is == aNumber || is == aBoolean):
		return "put it in quotes"
	case is == aString && (want == aNumber || want == aBoolean):
		return "write it without quotes, as " + want
	}
	return "write " + want
}
