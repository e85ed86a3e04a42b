package flux_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAStatusRemembersWhyTheNewestRunHasFailed so that the journal does not have it again after a restart.
func TestAStatusRemembersWhyTheNewestRunHasFailed(t *testing.T) {
	for name, c := range map[string]struct{ status, reason, healthy, want, attempted string }{
		"failed":       {"False", "ReconciliationFailed", "Succeeded", "web.yaml:1: no such kind", "main@sha1:2"},
		"gone through": {"True", "ReconciliationSucceeded", "Succeeded", "", "main@sha1:2"},
		"under way":    {"Unknown", "Progressing", "Succeeded", "", ""},
		"not healthy":  {"False", "HealthCheckFailed", "HealthCheckFailed", "", "main@sha1:2"},
		"not yet":      {"Unknown", "Progressing", "Progressing", "", "main@sha1:2"},
	} {
		ready := map[string]any{"type": "Ready", "status": c.status, "reason": c.reason, "message": "web.yaml:1: no such kind"}
		cr := object.Object{
			"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"status": map[string]any{"conditions": []any{map[string]any{"type": "Reconciling", "status": "False", "message": "other"}, ready,
				map[string]any{"type": "Healthy", "status": "Unknown", "reason": c.healthy}}, "lastAttemptedRevision": "main@sha1:2"},
		}
		got := (flux.Kustomizations{}).App(cr, policy.Policy{})
		if got.LastFailure != c.want || got.AttemptedRevision != c.attempted {
			t.Errorf("%s: %q about %q, want %q about %q", name, got.LastFailure, got.AttemptedRevision, c.want, c.attempted)
		}
	}
}
