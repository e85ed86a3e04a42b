package desired_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// Objects with generated names, or without a namespace, are set apart, and the others of the revision go on.
func TestGeneratedNamesAreSetApart(t *testing.T) {
	job := func(annotations map[string]any) render.Object {
		return render.Object{Data: object.Object{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": map[string]any{"generateName": "migrate-", "annotations": annotations},
		}}
	}
	hook := job(map[string]any{"argocd.argoproj.io/hook": "PreSync"})
	config := render.Object{Data: object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a", "namespace": "shop"}}}
	homeless := render.Object{Data: object.Object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "b"}}}
	a := app.App{Aside: optout.Moments{{Annotation: "argocd.argoproj.io/hook"}}}
	s, err := desired.Normalize([]render.Object{job(nil), hook, config, homeless, job(nil)}, a, func(object.GVK) desired.Scope { return desired.Namespaced })
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Objects) != 1 || len(s.Homeless) != 1 || len(s.Nameless) != 2 || len(s.Hooks) != 1 || s.Hooks[0].Data.ShownID().Name != "migrate-*" {
		t.Errorf("%d objects, %d without a name, set aside: %v", len(s.Objects), len(s.Nameless), s.Hooks)
	}
}
