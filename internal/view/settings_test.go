package view

import (
	"github.com/truce-gitops/truce/internal/controller/instance"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

func TestFlagsThatWereWrittenDownAreTakenAndSaid(t *testing.T) {
	o := object.Object{
		"metadata": map[string]any{"namespace": "truce-system", "name": instance.ConfigMap},
		"data":     map[string]any{"claims": "off", "mode": "", "multi-tenant": "", "claims.yaml": "claims: [{id: broken"},
	}
	p := controllerSettings{catalogue: claim.Builtin()}
	p.take(instance.FromConfigMap(nil, o))
	if diff := cmp.Diff(policy.Policy{Claims: policy.ClaimsOff}, p.policy); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(p.notes) != 2 || p.notes[0] != "as the controller runs: --claims=off (ConfigMap truce-system/truce-controller)" || !strings.HasPrefix(p.notes[1], "claims left out: ") {
		t.Errorf("notes: %q", p.notes)
	}
	if n := len(p.catalogue.Entries()); n != len(claim.Builtin().Entries()) {
		t.Errorf("%d entries", n)
	}
}

func TestTheRulesForTenantsAreTakenAndSaid(t *testing.T) {
	home := map[string]any{"namespace": "truce-system", "name": instance.ConfigMap}
	p := controllerSettings{catalogue: claim.Builtin()}
	p.take(instance.FromConfigMap(nil, object.Object{"metadata": home, "data": map[string]any{"multi-tenant": "true", "no-cross-namespace-refs": "true"}}))
	a := app.App{Key: app.Key{Kind: "Kustomization", Namespace: "a", Name: "x"}, Source: app.SourceKey{Kind: "GitRepository", Namespace: "b", Name: "r"}}
	if err := refusal(p.tenancy.Bind(a)); err == nil || !strings.Contains(err.Error(), "cross-namespace references have been blocked") {
		t.Errorf("refused by %v", err)
	}
	if len(p.notes) != 1 || !strings.HasPrefix(p.notes[0], "as the controller runs: --multi-tenant=true --no-cross-namespace-refs=true") {
		t.Errorf("notes: %q", p.notes)
	}
	older := controllerSettings{catalogue: claim.Builtin()}
	older.take(instance.FromConfigMap(nil, object.Object{"metadata": home, "data": map[string]any{"mode": ""}}))
	if err := refusal(older.tenancy.Bind(a)); err != nil || len(older.notes) != 1 || !strings.Contains(older.notes[0], "does not say what the controller refuses tenants") {
		t.Errorf("of a controller that publishes no rules: %v, notes: %q", err, older.notes)
	}
}
