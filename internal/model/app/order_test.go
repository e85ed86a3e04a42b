package app

import (
	"github.com/truce-gitops/truce/internal/model/policy"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
)

func TestAnOrderIsAboutItsObjectsOnly(t *testing.T) {
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	other := web
	other.Name = "other"
	a := App{Policy: policy.Policy{Mode: policy.Enforce}, SyncRequest: SyncRequest{Token: "x", Objects: []object.ID{{Group: "apps", Kind: "Deployment", Name: "web"}}}}.InRollout()
	if got := a.ForObject(web).Policy.Mode; got != policy.Enforce {
		t.Errorf("the object that is meant: %s", got)
	}
	if got := a.ForObject(other).Policy.Mode; got != policy.Await {
		t.Errorf("another: %s", got)
	}
}

func TestWhatIsWrittenBetweenRollouts(t *testing.T) {
	for name, c := range map[string]struct {
		app     App
		resting policy.Policy
		rolling policy.Policy
	}{
		"drift is put back":   {App{Policy: policy.Policy{Mode: policy.Enforce, Remediation: policy.Remediate}}, policy.Policy{Mode: policy.Enforce, Remediation: policy.Remediate}, policy.Policy{Mode: policy.Enforce, Remediation: policy.Remediate}},
		"drift in rollouts":   {App{Policy: policy.Policy{Mode: policy.Enforce, Remediation: policy.RemediateInRollouts}}, policy.Policy{Mode: policy.Enforce, Remediation: policy.ReportOnly}, policy.Policy{Mode: policy.Enforce, Remediation: policy.Remediate}},
		"rollouts on order":   {App{Rollout: OnRequest, Policy: policy.Policy{Mode: policy.Enforce, Remediation: policy.RemediateInRollouts}}, policy.Policy{Mode: policy.Await, Remediation: policy.ReportOnly}, policy.Policy{Mode: policy.Enforce, Remediation: policy.Remediate}},
		"observed all along":  {App{Rollout: OnRequest, Policy: policy.Policy{Mode: policy.Observe}}, policy.Policy{Mode: policy.Observe}, policy.Policy{Mode: policy.Observe}},
		"reported all along":  {App{Policy: policy.Policy{Mode: policy.Enforce, Remediation: policy.ReportOnly}}, policy.Policy{Mode: policy.Enforce, Remediation: policy.ReportOnly}, policy.Policy{Mode: policy.Enforce, Remediation: policy.ReportOnly}},
		"an order for a look": {App{Policy: policy.Policy{Mode: policy.Enforce}, SyncRequest: SyncRequest{Token: "x", Mode: policy.Preview}}, policy.Policy{Mode: policy.Enforce}, policy.Policy{Mode: policy.Preview, Remediation: policy.Remediate}},
	} {
		if diff := cmp.Diff(c.resting, c.app.BetweenRollouts().Policy); diff != "" {
			t.Errorf("%s, resting (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.rolling, c.app.InRollout().Policy); diff != "" {
			t.Errorf("%s, rolling (-want +got):\n%s", name, diff)
		}
	}
}

// TestTheStricterRestraintCounts of an app and of an order that asks to prune.
func TestTheStricterRestraintCounts(t *testing.T) {
	none, confirm, never := policy.Restraint{}, policy.Restraint{Mark: "confirm"}, policy.Restraint{Never: true, Mark: "never"}
	for _, c := range []struct{ app, order, want policy.Restraint }{
		{none, none, none}, {none, confirm, confirm}, {none, never, never}, {confirm, none, confirm}, {confirm, never, never}, {never, none, never}, {never, confirm, never},
	} {
		a := App{Prune: policy.PruneReport, PruneRestraint: c.app, SyncRequest: SyncRequest{Token: "x", Prune: policy.PruneDelete, PruneRestraint: c.order}}.InRollout()
		if a.PruneRestraint != c.want || a.Prune != policy.PruneDelete || a.Prunes() == c.want.Never {
			t.Errorf("%v with %v: %v, prunes: %v", c.app, c.order, a.PruneRestraint, a.Prunes())
		}
	}
}

// TestWhatIsPrunedBetweenRollouts: what a release has dropped is the release's to delete, whenever that is done.
func TestWhatIsPrunedBetweenRollouts(t *testing.T) {
	for name, c := range map[string]struct {
		app  App
		want policy.Prune
	}{
		"drift is put back":            {App{Prune: policy.PruneDelete, Policy: policy.Policy{Remediation: policy.Remediate}}, policy.PruneDelete},
		"drift in rollouts":            {App{Prune: policy.PruneDelete, Policy: policy.Policy{Remediation: policy.RemediateInRollouts}}, policy.PruneReport},
		"drift in rollouts, a release": {App{Prune: policy.PruneDelete, Release: &release.Spec{}, Policy: policy.Policy{Remediation: policy.RemediateInRollouts}}, policy.PruneDelete},
		"nothing is pruned":            {App{Prune: policy.PruneKeep, Release: &release.Spec{}, Policy: policy.Policy{Remediation: policy.RemediateInRollouts}}, policy.PruneKeep},
	} {
		if got := c.app.BetweenRollouts().Prune; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
