package reconcile

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAnObjectStaysItsAppsWhenTheServersDataGoesBack: the app that named it second may run first after that.
func TestAnObjectStaysItsAppsWhenTheServersDataGoesBack(t *testing.T) {
	e := NewEngine(Dependencies{}, nil)
	named := func(name string) asker {
		return asker{app: app.Key{Kind: "Kustomization", Namespace: "team", Name: name}, mode: policy.Enforce, hold: keeps}
	}
	if _, _, err := e.claimObject(shared(), named("first"), fight.Memory{}); err != nil {
		t.Fatal(err)
	}
	e.StartOver()
	if got, taken, err := e.claimObject(shared(), named("second"), fight.Memory{}); got != nil || taken != nil || err == nil {
		t.Errorf("%v: another app has taken it", err)
	}
	if got, _, err := e.claimObject(shared(), named("first"), fight.Memory{}); got == nil || err != nil {
		t.Errorf("%v: its app does not have it any more", err)
	}
}
