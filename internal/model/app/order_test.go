package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
)

func TestAnOrderIsAboutItsObjectsOnly(t *testing.T) {
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	other := web
	other.Name = "other"
	a := App{Policy: Policy{Mode: Enforce}, SyncRequest: SyncRequest{Token: "x", Objects: []object.ID{{Group: "apps", Kind: "Deployment", Name: "web"}}}}.InRollout()
	if got := a.ForObject(web).Policy.Mode; got != Enforce {
		t.Errorf("the object that is meant: %s", got)
	}
	if got := a.ForObject(other).Policy.Mode; got != Await {
		t.Errorf("another: %s", got)
	}
}

func TestWhatIsWrittenBetweenRollouts(t *testing.T) {
	for name, c := range map[string]struct {
		app     App
		resting Policy
		rolling Policy
	}{
		"drift is put back":   {App{Policy: Policy{Mode: Enforce, Remediation: Remediate}}, Policy{Mode: Enforce, Remediation: Remediate}, Policy{Mode: Enforce, Remediation: Remediate}},
		"drift in rollouts":   {App{Policy: Policy{Mode: Enforce, Remediation: RemediateInRollouts}}, Policy{Mode: Enforce, Remediation: ReportOnly}, Policy{Mode: Enforce, Remediation: Remediate}},
		"rollouts on order":   {App{Rollout: OnRequest, Policy: Policy{Mode: Enforce, Remediation: RemediateInRollouts}}, Policy{Mode: Await, Remediation: ReportOnly}, Policy{Mode: Enforce, Remediation: Remediate}},
		"observed all along":  {App{Rollout: OnRequest, Policy: Policy{Mode: Observe}}, Policy{Mode: Observe}, Policy{Mode: Observe}},
		"reported all along":  {App{Policy: Policy{Mode: Enforce, Remediation: ReportOnly}}, Policy{Mode: Enforce, Remediation: ReportOnly}, Policy{Mode: Enforce, Remediation: ReportOnly}},
		"an order for a look": {App{Policy: Policy{Mode: Enforce}, SyncRequest: SyncRequest{Token: "x", Mode: Preview}}, Policy{Mode: Enforce}, Policy{Mode: Preview, Remediation: Remediate}},
	} {
		if diff := cmp.Diff(c.resting, c.app.BetweenRollouts().Policy); diff != "" {
			t.Errorf("%s, resting (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.rolling, c.app.InRollout().Policy); diff != "" {
			t.Errorf("%s, rolling (-want +got):\n%s", name, diff)
		}
	}
}
