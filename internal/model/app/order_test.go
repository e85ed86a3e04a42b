package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
)

func TestPausesGrowUpToABoundAndEnd(t *testing.T) {
	b := Backoff{Factor: 2, Max: 30 * time.Second, Limit: 5}
	var got []time.Duration
	for n := 1; ; n++ {
		pause, again := b.Pause(5*time.Second, n)
		if !again {
			break
		}
		got = append(got, pause)
	}
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 30 * time.Second, 30 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, again := (Backoff{Limit: -1}).Pause(time.Second, 1); again {
		t.Error("a limit below 0 is tried again")
	}
	if pause, again := (Backoff{}).Pause(time.Minute, 1000); pause != time.Minute || !again {
		t.Errorf("the zero value gives %s, %v", pause, again)
	}
	if pause, _ := (Backoff{Factor: 1 << 40, Max: time.Hour}).Pause(time.Second, 100); pause != time.Hour {
		t.Errorf("a huge factor gives %s", pause)
	}
}

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
