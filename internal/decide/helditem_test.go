package decide_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// TestAnItemThatIsGoneIsHeldWithItsName: where its fields are held one by one, what is sent has none of it. The server refuses an item without its name, and
// with it all else that Git has changed.
func TestAnItemThatIsGoneIsHeldWithItsName(t *testing.T) {
	workload := func(replicas int64, env ...any) object.Object {
		container := map[string]any{"name": "web", "image": "web:1", "env": env}
		return object.Object{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"spec": map[string]any{"replicas": replicas, "template": map[string]any{"spec": map[string]any{"containers": []any{container}}}},
		}
	}
	level, other := map[string]any{"name": "LEVEL", "value": "info"}, map[string]any{"name": "OTHER", "value": "info"}
	in := decide.Input{
		Desired: workload(5, level, other), Live: workload(3, other), Changed: true, Previous: workload(3, level, other), Hasher: ownership.NewHasher(), Now: now,
		Policy: policy.Policy{Mode: policy.Enforce, Remediation: policy.ReportOnly},
	}
	item := append(field.NewPath("spec", "template", "spec", "containers"), field.KeyElement(map[string]any{"name": "web"}, []string{"name"}))
	item = append(append(item, field.NewPath("env")...), field.KeyElement(level, []string{"name"}))
	in.Compared.Differences = []compare.Difference{{Path: field.NewPath("spec", "replicas"), Kind: compare.Changed, Desired: redact.HideValue(int64(5)), Live: redact.HideValue(int64(3))}}
	for _, name := range []string{"name", "value"} {
		p := append(item.Copy(), field.NewPath(name)...)
		in.Compared.Differences = append(in.Compared.Differences, compare.Difference{Path: p, Kind: compare.Missing, Desired: redact.HideValue(level[name])})
	}
	plan := decide.JudgeObject(in)
	if len(plan.Steps) != 1 {
		t.Fatalf("the steps are %v", plan.Steps)
	}
	containers, _ := plan.Steps[0].Body.At("spec", "template", "spec", "containers").([]any)
	env, _ := containers[0].(map[string]any)["env"].([]any)
	if len(env) != 1 || !field.EqualValues(env[0], other) {
		t.Errorf("sent is %v", env)
	}
}
