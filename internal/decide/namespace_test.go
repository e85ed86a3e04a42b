package decide_test

import (
	"encoding/json"
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
	applied := func(labels map[string]any, fields string) object.Object {
		var entry any
		if err := json.Unmarshal([]byte(`{"manager": "truce-home", "operation": "Apply", "fieldsV1": {"f:metadata": {"f:labels": {`+fields+`}}}}`), &entry); err != nil {
			t.Fatal(err)
		}
		return object.Object{"kind": "Namespace", "metadata": map[string]any{"name": "web", "labels": labels, "managedFields": []any{entry}}}
	}
	for name, c := range map[string]struct {
		want policy.DefaultNamespace
		live object.Object
		is   any // the labels that are applied; nil where nothing is
	}{
		"it is made":                 {first, nil, map[string]any{"name": "web"}},
		"it is there":                {first, there, nil},
		"it is made with labels":     {both, nil, map[string]any{"name": "web", "team": "a"}},
		"it is there without labels": {both, there, map[string]any{"team": "a"}},
		"it is there with another":   {both, applied(map[string]any{"team": "b"}, `"f:team": {}`), map[string]any{"team": "a"}},
		"it has a label of others":   {both, applied(map[string]any{"team": "a", "tier": "x"}, `"f:team": {}`), nil},
		"another app has a label":    {both, applied(map[string]any{"tier": "x"}, `"f:tier": {}`), map[string]any{"team": "a", "tier": "x"}},
		"nothing is to be changed":   {both, applied(map[string]any{"team": "a", "tier": "x"}, `"f:team": {}, "f:tier": {}`), nil},
		"it has its first label":     {both, applied(map[string]any{"team": "a", "name": "web"}, `"f:team": {}, "f:name": {}`), nil},
		"no label is wanted":         {first, applied(map[string]any{"tier": "x"}, `"f:tier": {}`), nil},
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
