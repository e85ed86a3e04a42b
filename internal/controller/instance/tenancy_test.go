package instance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestTheRulesForTenantsAreReadAgainAsTheyWere(t *testing.T) {
	for name, rules := range map[string]tenancy.Rules{
		"none":          {},
		"only accounts": {Account: "deployer", TokenAccount: "connector"},
		"only sources":  {References: tenancy.SameNamespace},
		"all":           {References: tenancy.SameNamespace, Account: "default", TokenAccount: "default", Sharing: tenancy.Shared, Admins: []string{"flux-system", "argocd"}},
	} {
		published := object.Object{"metadata": map[string]any{"namespace": "truce-system"}, "data": tenancyData(rules)}
		got, known := New(nil, published).Tenancy()
		if diff := cmp.Diff(CompleteRules(rules, "truce-system"), got); diff != "" || !known {
			t.Errorf("%s: known: %v (-want +got):\n%s", name, known, diff)
		}
	}
	if _, known := New(nil, object.Object{"data": map[string]any{keyMode: ""}}).Tenancy(); known {
		t.Error("a controller that publishes no rules has some")
	}
}
