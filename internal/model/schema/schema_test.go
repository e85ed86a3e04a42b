package schema_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/schema"
)

// down follows the fields, and "*" for the items.
func down(t *testing.T, from *schema.Type, names ...string) *schema.Type {
	t.Helper()
	for _, name := range names {
		if name == "*" {
			from = from.Item()
			continue
		}
		next, ok := from.Field(name)
		if !ok {
			t.Fatalf("no field %s of %v", name, from.Fields())
		}
		from = next
	}
	return from
}

func TestTheServersOwnKindsAreKnown(t *testing.T) {
	kinds := schema.Builtin()
	d, ok := kinds.Of(object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"})
	if !ok {
		t.Fatal("no Deployment")
	}
	pod := []string{"spec", "template", "spec"}
	for _, c := range []struct {
		path []string
		form schema.Form
		keys []string
	}{
		{pod, schema.Record, nil},
		{append(slices.Clone(pod), "containers"), schema.Keyed, []string{"name"}},
		{append(slices.Clone(pod), "containers", "*", "ports"), schema.Keyed, []string{"containerPort", "protocol"}},
		{append(slices.Clone(pod), "containers", "*", "args"), schema.List, nil},
		{append(slices.Clone(pod), "containers", "*", "resources", "limits", "cpu"), schema.Quantity, nil},
		{append(slices.Clone(pod), "containers", "*", "livenessProbe", "httpGet", "port"), schema.Any, nil},
		{[]string{"metadata", "labels"}, schema.Map, nil},
		{[]string{"metadata", "finalizers"}, schema.Set, nil},
	} {
		got := down(t, d, c.path...)
		if got.Form() != c.form || !slices.Equal(got.Keys(), c.keys) {
			t.Errorf("%v: a %s with the keys %q", c.path, got.Form(), got.Keys())
		}
	}
	for name, want := range map[string]bool{"nodeSelector": true, "tolerations": true, "containers": false, "securityContext": false} {
		if got := down(t, d, append(slices.Clone(pod), name)...).Atomic(); got != want {
			t.Errorf("%s has one owner: %v", name, got)
		}
	}
	if selector := down(t, d, "spec", "selector"); !selector.Atomic() || !slices.Contains(selector.Fields(), "matchLabels") {
		t.Errorf("the selector: %v, %v", selector.Atomic(), selector.Fields())
	}
	if _, ok := down(t, d, "spec").Field("replica"); ok {
		t.Error("a Deployment has .spec.replica")
	}
	if _, ok := kinds.Of(object.GVK{Group: "example.org", Version: "v1", Kind: "Thing"}); ok {
		t.Error("a kind that nobody has defined is known")
	}
}

// crd defines Thing with one field.
func crd(name string) object.Object {
	text := map[string]any{"type": "string"}
	described := map[string]any{"type": "object", "properties": map[string]any{"spec": map[string]any{"type": "object", "properties": map[string]any{
		name:    text,
		"open":  map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": map[string]any{"a": text}},
		"list":  map[string]any{"type": "array", "items": map[string]any{"type": "object"}, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"id"}},
		"map":   map[string]any{"type": "object", "additionalProperties": text},
		"empty": map[string]any{"type": "object"},
		"other": map[string]any{"x-kubernetes-int-or-string": true},
	}}}}
	return object.Object{"spec": map[string]any{
		"group": "example.org", "names": map[string]any{"kind": "Thing"},
		"versions": []any{map[string]any{"name": "v1", "schema": map[string]any{"openAPIV3Schema": described}}},
	}}
}

func TestADefinitionMakesItsKindKnown(t *testing.T) {
	gvk := object.GVK{Group: "example.org", Version: "v1", Kind: "Thing"}
	kinds := schema.Builtin()
	kinds.Define(crd("size"))
	kinds.Define(crd("size")) // a base in two overlays
	thing, ok := kinds.Of(gvk)
	if !ok {
		t.Fatal("Thing is not known")
	}
	spec := down(t, thing, "spec")
	if diff := cmp.Diff([]string{"empty", "list", "map", "open", "other", "size"}, spec.Fields()); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]bool{"size": true, "sise": false} {
		if _, ok := spec.Field(name); ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	for name, want := range map[string]bool{"open": true, "map": true, "empty": false} {
		if _, ok := down(t, spec, name).Field("anything"); ok != want {
			t.Errorf("%s takes anything: %v", name, ok)
		}
	}
	if got := down(t, spec, "list"); got.Form() != schema.Keyed || !slices.Equal(got.Keys(), []string{"id"}) {
		t.Errorf("a %s with the keys %q", got.Form(), got.Keys())
	}
	if _, ok := down(t, thing, "metadata").Field("label"); ok {
		t.Error("metadata takes anything")
	}

	kinds.Define(crd("length"))
	if _, ok := kinds.Of(gvk); ok {
		t.Error("of a kind that is defined in two ways something is known")
	}
}
