package app

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
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

// TestWhatIsPrunedBetweenRollouts: what a release has dropped is the release's to delete, whenever that is done.
func TestWhatIsPrunedBetweenRollouts(t *testing.T) {
	for name, c := range map[string]struct {
		app  App
		want Prune
	}{
		"drift is put back":            {App{Prune: PruneDelete, Policy: Policy{Remediation: Remediate}}, PruneDelete},
		"drift in rollouts":            {App{Prune: PruneDelete, Policy: Policy{Remediation: RemediateInRollouts}}, PruneReport},
		"drift in rollouts, a release": {App{Prune: PruneDelete, Release: &release.Spec{}, Policy: Policy{Remediation: RemediateInRollouts}}, PruneDelete},
		"nothing is pruned":            {App{Prune: PruneKeep, Release: &release.Spec{}, Policy: Policy{Remediation: RemediateInRollouts}}, PruneKeep},
	} {
		if got := c.app.BetweenRollouts().Prune; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
