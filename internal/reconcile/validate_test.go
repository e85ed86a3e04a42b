package reconcile

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// refusing is a schema that has no object.
type refusing struct{}

func (refusing) Check(_ context.Context, _ tenancy.Access, all []desired.Object) []error {
	out := make([]error, len(all))
	for i, o := range all {
		out[i] = errors.New(o.ID.Name + " has a field that the schema lacks")
	}
	return out
}

// TestAnObjectWhoseCRDTheRevisionBringsIsNotValidated: the schema that the server has may be the one before.
func TestAnObjectWhoseCRDTheRevisionBringsIsNotValidated(t *testing.T) {
	custom := object.GVK{Group: "example.com", Version: "v1", Kind: "Growth"}
	r := &appRun{app: app.App{Validation: app.ValidateServer}, engine: NewEngine(Dependencies{Checkers: map[app.Validation]Checker{app.ValidateServer: refusing{}}}, nil)}
	r.rendered = renderingOf(render.Result{Objects: []render.Object{{Data: object.Object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "growths.example.com"},
		"spec": map[string]any{"group": custom.Group, "names": map[string]any{"kind": custom.Kind}},
	}}}})
	r.set.Objects = []desired.Object{
		{GVK: custom, ID: object.ID{Group: custom.Group, Kind: custom.Kind, Name: "grown"}},
		{GVK: object.GVK{Version: "v1", Kind: "ConfigMap"}, ID: object.ID{Kind: "ConfigMap", Name: "wrong"}},
	}
	err := r.validate(t.Context())
	if err == nil || strings.Contains(err.Error(), "grown has") || !strings.Contains(err.Error(), "ConfigMap wrong: wrong has") {
		t.Errorf("got %v, want the ConfigMap alone refused", err)
	}
}
