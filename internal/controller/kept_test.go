package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

func resource() object.Object {
	return object.Object{
		"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
		"metadata": map[string]any{
			"name": "web", "uid": "u", "generation": int64(3), "annotations": map[string]any{"a": "b"}, "finalizers": []any{"f"},
		},
		"status": map[string]any{"observedGeneration": int64(2), "inventory": map[string]any{"entries": []any{map[string]any{"id": "x", "v": "v1"}}}},
	}
}

func TestACustomResourceIsKeptWithoutItsManagedFields(t *testing.T) {
	c := &Controller{}
	whole := resource()
	whole.Metadata()["managedFields"] = []any{map[string]any{"manager": "x"}}
	kept, err := c.packResource(whole.GVK(), whole)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(resource(), c.withResource(appEntry{kept: kept}).cr); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if whole.At("metadata", "managedFields") == nil {
		t.Error("the event was changed")
	}
}

// refresh is a request that is taken off when it is answered.
var refresh = []field.Pointer{{"metadata", "annotations", "refresh"}}

func TestOnlyAUserAsksAnew(t *testing.T) {
	for what, change := range map[string]func(object.Object){
		"a status":     func(o object.Object) { o["status"] = map[string]any{"observedGeneration": int64(3)} },
		"a finalizer":  func(o object.Object) { o.Metadata()["finalizers"] = []any{"f", "g"} },
		"a generation": func(o object.Object) { o.Metadata()["generation"] = int64(4) },
		"an answer":    func(o object.Object) { o.Metadata()["annotations"] = map[string]any{"a": "b", "refresh": "hard"} },
		"a version":    func(o object.Object) { o.Metadata()["resourceVersion"] = "7" },
	} {
		o := resource()
		if change(o); requestOf(o, refresh) != requestOf(resource(), refresh) {
			t.Errorf("%s asks for something", what)
		}
	}
	for what, change := range map[string]func(object.Object){
		"a spec":          func(o object.Object) { o["spec"] = map[string]any{"path": "./b"} },
		"an annotation":   func(o object.Object) { o.Metadata()["annotations"] = map[string]any{"a": "c"} },
		"a deletion":      func(o object.Object) { o.Metadata()["deletionTimestamp"] = "2026-01-01T00:00:00Z" },
		"another of them": func(o object.Object) { o.Metadata()["uid"] = "v" },
	} {
		o := resource()
		if change(o); requestOf(o, refresh) == requestOf(resource(), refresh) {
			t.Errorf("%s asks for nothing", what)
		}
	}
}
