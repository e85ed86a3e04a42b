package desired_test

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// A namespace and a definition come no later than what needs them, whatever wave they name; else the wave comes before the kind.
func TestSyncWavesComeBeforeKinds(t *testing.T) {
	one := func(version, kind, namespace, name, wave string, more map[string]any) render.Object {
		o := object.Object{"apiVersion": version, "kind": kind, "metadata": map[string]any{
			"namespace": namespace, "name": name, "annotations": map[string]any{"wave": wave},
		}}
		for k, v := range more {
			o[k] = v
		}
		return render.Object{Data: o, File: name}
	}
	crd := map[string]any{"spec": map[string]any{"group": "example.com", "scope": "Namespaced", "names": map[string]any{"kind": "Thing"}}}
	rendered := []render.Object{
		one("v1", "ConfigMap", "shop", "late", "2", nil),
		one("v1", "Namespace", "", "shop", "5", nil),
		one("apps/v1", "Deployment", "shop", "web", "", nil),
		one("v1", "ConfigMap", "shop", "plain", "none", nil),
		one("example.com/v1", "Thing", "shop", "first", "-3", nil),
		one("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.example.com", "", crd),
	}
	scope := func(gvk object.GVK) desired.Scope {
		if gvk.Kind == "Namespace" || gvk.Kind == "CustomResourceDefinition" {
			return desired.ClusterWide
		}
		return desired.Namespaced
	}
	order := func(a app.App) (names []string) {
		s, err := desired.Normalize(rendered, a, scope)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range s.Objects {
			names = append(names, o.ID.Name)
		}
		return names
	}
	if got, want := order(app.App{Waves: []string{"wave"}}), []string{"shop", "things.example.com", "first", "plain", "web", "late"}; !slices.Equal(got, want) {
		t.Errorf("by waves: %v, want %v", got, want)
	}
	if got, want := order(app.App{}), []string{"shop", "things.example.com", "late", "plain", "web", "first"}; !slices.Equal(got, want) {
		t.Errorf("without waves: %v, want %v", got, want)
	}
}
