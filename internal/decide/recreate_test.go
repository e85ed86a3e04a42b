package decide_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

func TestWhatIsRecreated(t *testing.T) {
	applied := []any{map[string]any{"manager": ownership.Manager, "operation": "Apply", "fieldsV1": map[string]any{
		"f:metadata": map[string]any{"f:labels": map[string]any{"f:" + object.PartOf: map[string]any{}}},
	}}}
	made := func(kind, mark string, owners []any, more map[string]any) object.Object {
		meta := map[string]any{"name": "web", "namespace": "shop", "labels": map[string]any{object.PartOf: mark}, "managedFields": owners}
		for k, v := range more {
			meta[k] = v
		}
		return object.Object{"apiVersion": "v1", "kind": kind, "metadata": meta}
	}
	for what, c := range map[string]struct {
		live object.Object
		want string
	}{
		"an object that truce has applied":  {live: made("ConfigMap", "flux-system.web", applied, nil)},
		"one whose mark was copied":         {made("ConfigMap", "flux-system.web", nil, nil), "never applied"},
		"one of another app":                {made("ConfigMap", "flux-system.api", applied, nil), "never applied"},
		"one that is being deleted already": {made("ConfigMap", "flux-system.web", applied, map[string]any{"deletionTimestamp": "2026-11-21T09:00:00Z"}), "is being deleted"},
		"a namespace":                       {made("Namespace", "flux-system.web", applied, nil), "what it holds"},
		"a volume claim":                    {made("PersistentVolumeClaim", "flux-system.web", applied, nil), "what it holds"},
	} {
		in := decide.Input{Desired: made("ConfigMap", "flux-system.web", nil, nil), Treatment: optout.Treatment{Recreate: "spec.force"}}
		step, err := in.PlanRecreate(c.live, in.Desired)
		switch {
		case c.want == "" && (err != nil || step.Verb != decide.Recreate):
			t.Errorf("%s: %v, %v", what, step, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || step.Verb != ""):
			t.Errorf("%s: %v, %v; want %s", what, step, err, c.want)
		}
	}
}
