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

// tenancyData is what the ConfigMap says of the flags for tenants, and of the instance's own namespace.
func tenancyData(r tenancy.Rules, own string) map[string]any {
	out := map[string]any{keyShared: "", keySameOnly: "", keyAccount: r.Account, keyTokens: r.TokenAccount, keyAdmins: strings.Join(r.Admins, ","), keyOwn: own}
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
	own := i.Home() // where an older version, which does not publish its own, takes it to be
	if i.configMap.At("data", keyOwn) != nil {
		own = i.value(keyOwn)
	}
	return CompleteRules(rules, own), i.configMap.At("data", keyShared) != nil
}

// Account returns the service account whose rights the instance has. It is false for one that has those of another user, or does not publish it.
func (i Instance) Account() (identity.Account, bool) { return identity.AccountOf(i.value(keyUser)) }

// CompleteRules completes the rules of the flags: the instance's own namespace, which is that of its pod or of its kubeconfig's context, is an
// administrators' one, and an Application may be in any namespace and deploys to no other, as long as no AppProject says more. The home of an instance
// with --namespace is none by being that: it may be one that the instance works for, and a tenant's.
func CompleteRules(rules tenancy.Rules, own string) tenancy.Rules {
	rules.Admins = slices.Concat([]string{own}, rules.Admins)
	rules.Reaches = map[string]identity.NamespaceReach{}
	for kind := range registry.AppDialects() {
		rules.Reaches[kind.Kind] = identity.Namespaced
	}
	rules.Reaches[registry.Applications.Kind] = identity.Own
	return rules
}
