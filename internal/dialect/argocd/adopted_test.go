package argocd_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestTrucesConditionsGoWithTheApp: Argo CD leaves conditions of types that it does not know. An app that is only observed is written to in no way.
func TestTrucesConditionsGoWithTheApp(t *testing.T) {
	cr := object.Object{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "FieldsCeded", "message": "x"}, map[string]any{"type": "SyncError", "message": "y"},
	}}}
	for name, c := range map[string]struct {
		adoption policy.Adoption
		want     string
	}{
		"observed":   {policy.Adoption{}, "false [FieldsCeded SyncError]"},
		"adopted":    {policy.Adoption{Mode: policy.TakeBeside}, "false [FieldsCeded SyncError]"},
		"released":   {policy.Adoption{Mode: policy.HandBack}, "true [SyncError]"},
		"it is lost": {policy.Adoption{Lost: "Argo CD works again"}, "true [SyncError AdoptionLostWarning]"},
	} {
		t.Run(name, func(t *testing.T) {
			list, changed := argocd.Applications{}.Observed(cr, app.App{Adoption: c.adoption}, time.Unix(0, 0))
			var kinds []string
			for _, v := range list {
				kinds = append(kinds, fmt.Sprint(v.(map[string]any)["type"]))
			}
			if got := fmt.Sprint(changed, kinds); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
