package instance

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source/egress"
)

func TestTheRulesForTenantsAreReadAgainAsTheyWere(t *testing.T) {
	for name, rules := range map[string]tenancy.Rules{
		"none":          {},
		"only accounts": {Account: "deployer", TokenAccount: "connector"},
		"only sources":  {References: tenancy.SameNamespace},
		"all":           {References: tenancy.SameNamespace, Account: "default", TokenAccount: "default", Sharing: tenancy.Shared, Admins: []string{"flux-system", "argocd"}},
	} {
		published := object.Object{"metadata": map[string]any{"namespace": "team-a"}, "data": tenancyData(rules, "truce-system")}
		got, known := FromConfigMap(nil, published).Tenancy()
		if diff := cmp.Diff(CompleteRules(rules, "truce-system"), got); diff != "" || !known {
			t.Errorf("%s: known: %v (-want +got):\n%s", name, known, diff)
		}
	}
	older := object.Object{"metadata": map[string]any{"namespace": "home"}, "data": map[string]any{keyShared: set, keyAdmins: "infra"}}
	if got, _ := FromConfigMap(nil, older).Tenancy(); !slices.Equal(got.Admins, []string{"home", "infra"}) {
		t.Errorf("the administrators of an older version, whose home is theirs: %v", got.Admins)
	}
	if _, known := FromConfigMap(nil, object.Object{"data": map[string]any{keyMode: ""}}).Tenancy(); known {
		t.Error("a controller that publishes no rules has some")
	}
}

func TestTheServersOfSourcesAreReadAgainAsTheyWere(t *testing.T) {
	for name, want := range map[string]egress.Policy{
		"the default":          {},
		"no private sources":   {Reach: egress.ReachPublic, Allowed: []string{"git.example:8443", "10.1.0.0/16"}},
		"what truce up allows": {Reach: egress.ReachAny},
	} {
		got, known := FromConfigMap(nil, object.Object{"data": sourcesData(want)}).Sources()
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || !known {
			t.Errorf("%s: known: %v (-want +got):\n%s", name, known, diff)
		}
	}
	if _, known := FromConfigMap(nil, object.Object{"data": map[string]any{keyMode: ""}}).Sources(); known {
		t.Error("a controller that publishes no servers has some")
	}
}
