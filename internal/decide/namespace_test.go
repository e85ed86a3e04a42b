package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestTheFirstLabelsOfANamespace: Helm labels a namespace that it makes, and asks for no label of one that is there.
func TestTheFirstLabelsOfANamespace(t *testing.T) {
	first := policy.DefaultNamespace{Name: "web", Make: true, FirstLabels: map[string]string{"name": "web"}}
	both := first
	both.Labels = map[string]string{"team": "a"}
	there := object.Object{"kind": "Namespace", "metadata": map[string]any{"name": "web"}}
	for name, c := range map[string]struct {
		want policy.DefaultNamespace
		live object.Object
		is   any // the labels that are applied; nil where nothing is
	}{
		"it is made":                 {first, nil, map[string]any{"name": "web"}},
		"it is there":                {first, there, nil},
		"it is made with labels":     {both, nil, map[string]any{"name": "web", "team": "a"}},
		"it is there without labels": {both, there, map[string]any{"team": "a"}},
	} {
		var is any
		for _, s := range decide.PlanNamespace(c.want, c.live).Steps {
			is = s.Body.At("metadata", "labels")
		}
		if diff := cmp.Diff(c.is, is); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
