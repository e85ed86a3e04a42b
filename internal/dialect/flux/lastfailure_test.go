package flux_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAStatusRemembersWhyTheNewestRunHasFailed so that the journal does not have it again after a restart.
func TestAStatusRemembersWhyTheNewestRunHasFailed(t *testing.T) {
	for name, c := range map[string]struct{ status, reason, want string }{
		"failed":       {"False", "ReconciliationFailed", "web.yaml:1: no such kind"},
		"gone through": {"True", "ReconciliationSucceeded", ""},
		"under way":    {"Unknown", "Progressing", ""},
		"not healthy":  {"False", "HealthCheckFailed", ""},
	} {
		ready := map[string]any{"type": "Ready", "status": c.status, "reason": c.reason, "message": "web.yaml:1: no such kind"}
		cr := object.Object{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Reconciling", "status": "False", "message": "other"}, ready}},
		}
		if got := (flux.Kustomizations{}).App(cr, policy.Policy{}).LastFailure; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
