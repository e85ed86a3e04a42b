package reconcile

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
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
	git := serviceWith(t, `{"app": "web"}`)
	selector, hash := field.NewPath("spec", "selector"), field.NewPath("spec", "selector", "rollouts-pod-template-hash")
	owners, err := ownership.Entries(git)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer             string
		withheld, released []field.Path
		want               bool
	}{
		"the hash is a Rollout's":              {`{"app": "web", "rollouts-pod-template-hash": "a"}`, []field.Path{hash}, nil, false},
		"a person's key is there again":        {`{"app": "web", "rollouts-pod-template-hash": "a", "version": "b"}`, []field.Path{hash}, nil, true},
		"a person's key, and nothing is ceded": {`{"app": "web", "version": "b"}`, nil, nil, true},
		"the Rollout is gone":                  {`{"app": "web"}`, nil, []field.Path{hash}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := NewEngine(Dependencies{Hasher: ownership.NewHasher(), Now: time.Now}, nil)
			settled := git
			if c.released != nil {
				settled = serviceWith(t, `{"app": "web", "rollouts-pod-template-hash": "a"}`)
			}
			base := compare.NewBaseline(settled, owners, e.Hasher)
			w := &objectReconcile{
				engine: e, managed: newManagedObject(git.ID(), app.Key{}, fight.Memory{}), live: settled, owners: owners,
				snap: snapshot{gvk: git.GVK(), desired: git, observation: observation{baseline: base, withheld: c.released}},
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

// TestAClaimantsPartIsReleasedWhenItsClaimEnds: a process that begins in mid-canary finds the object as it would apply it, with the part in it.
func TestAClaimantsPartIsReleasedWhenItsClaimEnds(t *testing.T) {
	git, hash := serviceWith(t, `{"app": "web"}`), field.NewPath("spec", "selector", "rollouts-pod-template-hash")
	label := field.NewPath("metadata", "labels", "theirs")
	owners, err := ownership.Entries(git)
	if err != nil {
		t.Fatal(err)
	}
	w := &objectReconcile{owners: owners, snap: snapshot{desired: git}}
	w.input.Policy.Claims = policy.ClaimsCede
	w.input.Claims = []claim.Claim{{Path: hash}, {Path: label}}
	if got := w.withheldNow(nil); len(got) != 1 || !got[0].Equals(hash) {
		t.Errorf("withheld are %v, want the part of the selector alone", got)
	}
}
