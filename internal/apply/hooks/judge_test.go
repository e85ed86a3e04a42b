package hooks

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide/health/argocd"
	"github.com/truce-gitops/truce/internal/decide/health/kstatus"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
)

// TestAHookOfAnApplicationIsJudgedByItsHealth: as in Argo CD, a pod that is always restarted has succeeded when it is ready, and what cannot be judged has
// failed. A hook of a chart is a pod that ends, as in Helm.
func TestAHookOfAnApplicationIsJudgedByItsHealth(t *testing.T) {
	pod := func(restart, phase, ready string) object.Object {
		return object.Object{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "warm"}, "spec": map[string]any{"restartPolicy": restart},
			"status": map[string]any{"phase": phase, "conditions": []any{map[string]any{"type": "Ready", "status": ready}}},
		}
	}
	claim := object.Object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": map[string]any{"name": "data"}, "status": map[string]any{"phase": "?"}}
	application := argocd.Assessor{Custom: kstatus.Assessor{}}
	for name, c := range map[string]struct {
		o            object.Object
		as           health.Assessor
		done, failed bool
	}{
		"always restarted, ready":             {o: pod("Always", "Running", "True"), as: application, done: true},
		"always restarted, not ready yet":     {o: pod("Always", "Running", "False"), as: application},
		"ends by itself, ready":               {o: pod("Never", "Running", "True"), as: application},
		"ends by itself, succeeded":           {o: pod("Never", "Succeeded", "False"), as: application, done: true},
		"failed":                              {o: pod("Never", "Failed", "False"), as: application, done: true, failed: true},
		"its node does not answer":            {o: pod("Never", "Unknown", "False"), as: application, done: true, failed: true},
		"a claim with a phase without a rule": {o: claim, as: application, done: true, failed: true},
		"of a chart, always restarted, ready": {o: pod("Always", "Running", "True")},
		"of a chart, succeeded":               {o: pod("Always", "Succeeded", "False"), done: true},
	} {
		if done, why := hasEnded(c.o, c.as); done != c.done || (why != "") != c.failed {
			t.Errorf("%s: ended %t, failed because of %q; want %t, %t", name, done, why, c.done, c.failed)
		}
	}
}
