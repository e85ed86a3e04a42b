package othercontroller

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
)

// TestAStatusThatWasWrittenLatelyShowsThatTheOtherWorks checks what a status says of a controller that has no workload in the cluster, or one
// that is scaled to zero.
func TestAStatusThatWasWrittenLatelyShowsThatTheOtherWorks(t *testing.T) {
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	never := time.Time{}
	for name, c := range map[string]struct {
		manager string
		ago     time.Duration
		stopped time.Time
		works   bool
	}{
		"within its interval":                 {"gotk-kustomize-controller", 9 * time.Minute, never, true},
		"a little late":                       {"gotk-kustomize-controller", 11 * time.Minute, never, true},
		"long ago":                            {"gotk-kustomize-controller", 13 * time.Minute, never, false},
		"before it was scaled to zero":        {"gotk-kustomize-controller", 2 * time.Minute, now.Add(-time.Minute), false},
		"after its workload here was stopped": {"gotk-kustomize-controller", time.Minute, now.Add(-2 * time.Minute), true},
		"long ago, after that":                {"gotk-kustomize-controller", time.Hour, now.Add(-2 * time.Hour), false},
		"by another controller":               {"truce-controller", time.Minute, never, false},
	} {
		cr := object.Object{"metadata": map[string]any{"managedFields": []any{
			map[string]any{"manager": c.manager, "time": now.Add(-c.ago).Format(time.RFC3339), "fieldsV1": map[string]any{"f:status": map[string]any{}}},
			map[string]any{"manager": "gotk-kustomize-controller", "time": now.Format(time.RFC3339), "fieldsV1": map[string]any{"f:metadata": map[string]any{}}},
		}}}
		got := statusEvidence(ByAppKind["Kustomization"], cr, now.Add(-statusAge(10*time.Minute)), c.stopped)
		if (got != "") != c.works || c.works && !strings.Contains(got, "gotk-kustomize-controller wrote its status at 2026-01-02T11:") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
