package instance

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/identity"
)

// set is the value of a flag that is on or off.
const set = "true"

// tenancyData is what the ConfigMap says of the flags for tenants.
func tenancyData(r tenancy.Rules) map[string]any {
	out := map[string]any{keyShared: "", keySameOnly: "", keyAccount: r.Account, keyTokens: r.TokenAccount, keyAdmins: strings.Join(r.Admins, ",")}
	if r.Sharing == tenancy.Shared {
		out[keyShared] = set
	}
	if r.References == tenancy.SameNamespace {
		out[keySameOnly] = set
	}
	return out
}

// Tenancy returns the rules by which the instance binds apps. It is false for one that does not publish them, as one of an older version.
func (i Instance) Tenancy() (tenancy.Rules, bool) {
	rules := tenancy.Rules{Account: i.value(keyAccount), TokenAccount: i.value(keyTokens), Admins: splitNames(i.value(keyAdmins))}
	if i.value(keyShared) == set {
		rules.Sharing = tenancy.Shared
	}
	if i.value(keySameOnly) == set {
		rules.References = tenancy.SameNamespace
	}
	return CompleteRules(rules, i.Home()), i.configMap.At("data", keyShared) != nil
}

// CompleteRules completes the rules of the flags: the instance's own namespace is an administrators' one, and an Application may be in any
// namespace and deploys to no other, as long as no AppProject says more.
func CompleteRules(rules tenancy.Rules, home string) tenancy.Rules {
	rules.Admins = slices.Concat([]string{home}, rules.Admins)
	rules.Reaches = map[string]identity.NamespaceReach{}
	for kind := range registry.AppDialects() {
		rules.Reaches[kind.Kind] = identity.Namespaced
	}
	rules.Reaches[registry.Applications.Kind] = identity.Own
	return rules
}
