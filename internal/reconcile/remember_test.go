package reconcile

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// serviceWith is a Service with a selector, which truce owns.
func serviceWith(t *testing.T, selector string) object.Object {
	t.Helper()
	var out object.Object
	err := json.Unmarshal([]byte(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "uid": "1", "managedFields": [
		{"manager": "truce", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:selector": {}}}}]},
		"spec": {"selector": `+selector+`}}`), &out)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestACorrectionThatKeepsWhatIsAnothersRestoresTheField: the answer has the part as live had it, and the last apply may have left another value there.
func TestACorrectionThatKeepsWhatIsAnothersRestoresTheField(t *testing.T) {
	git, settled := serviceWith(t, `{"app": "web"}`), serviceWith(t, `{"app": "web"}`)
	selector, hash := field.NewPath("spec", "selector"), field.NewPath("spec", "selector", "rollouts-pod-template-hash")
	owners, err := ownership.Entries(settled)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer   string
		withheld []field.Path
		want     bool
	}{
		"the hash is a Rollout's":              {`{"app": "web", "rollouts-pod-template-hash": "a"}`, []field.Path{hash}, false},
		"a person's key is there again":        {`{"app": "web", "rollouts-pod-template-hash": "a", "version": "b"}`, []field.Path{hash}, true},
		"a person's key, and nothing is ceded": {`{"app": "web", "version": "b"}`, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Now: time.Now}, nil)
			base := compare.NewBaseline(settled, owners, e.Hasher)
			w := &objectReconcile{
				engine: e, managed: newManagedObject(git.ID(), app.Key{}, fight.Memory{}), live: settled, owners: owners,
				snap: snapshot{gvk: git.GVK(), desired: git, baseline: base},
				plan: decide.Plan{Withheld: c.withheld, Findings: []decide.Finding{
					{Verdict: decide.Correct, Difference: compare.Difference{Path: selector, Kind: compare.Changed}},
				}},
			}
			answer := serviceWith(t, c.answer)
			memory, stuck := w.remember(compare.NewBaseline(answer, owners, e.Hasher), answer, owners)
			value, _ := field.ValueAt(answer, selector)
			if got := memory.IsStuck(field.PathString(selector), e.Hasher.Value(value)); got != c.want || stuck != c.want {
				t.Errorf("stuck: %v, remembered as such: %v, want %v", stuck, got, c.want)
			}
		})
	}
}
