package cli

import (
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
)

// tenancyFlags say what tenants of one cluster may do.
type tenancyFlags struct {
	shared, sameNamespace bool
	account               string
	admins                []string
}

// defaultAccount is the account of --multi-tenant, as in Flux's documentation of multi-tenancy lockdown.
const defaultAccount = "default"

func (f *tenancyFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.shared, "multi-tenant", false, "tenants share the cluster: sets --no-cross-namespace-refs, --default-service-account=default, --no-remote-bases (unless --remote-hosts is set) and --no-private-sources, refuses cluster-scoped objects outside of --admin-namespaces, and lets an Application outside of them deploy to its own namespace only")
	flags.StringSliceVar(&f.admins, "admin-namespaces", nil, "with --multi-tenant, namespaces beside the controller's own whose apps are the administrators': without spec.serviceAccountName they have the controller's rights, in all namespaces and for cluster-scoped objects; may be given more than once, or with commas")
	flags.BoolVar(&f.sameNamespace, "no-cross-namespace-refs", false, "refuse apps that refer to a source in another namespace")
	flags.StringVar(&f.account, "default-service-account", "", "service account, in the namespace of the app, that is impersonated for an app without spec.serviceAccountName; empty for the controller's own rights")
}

func (f *tenancyFlags) complete() (tenancy.Rules, error) {
	rules := tenancy.Rules{Account: f.account}
	if f.shared || f.sameNamespace {
		rules.References = tenancy.SameNamespace
	}
	if f.account != "" {
		if problems := validation.IsDNS1123Subdomain(f.account); len(problems) > 0 {
			return rules, usageError("--default-service-account %q: %s", f.account, problems[0])
		}
	}
	if !f.shared {
		if len(f.admins) > 0 {
			return rules, usageError("--admin-namespaces has a meaning with --multi-tenant only")
		}
		return rules, nil
	}
	rules.Sharing = tenancy.Shared
	if rules.Account == "" {
		rules.Account = defaultAccount
	}
	for _, name := range f.admins {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return rules, usageError("--admin-namespaces %q: %s", name, problems[0])
		}
	}
	rules.Admins = f.admins
	return rules, nil
}
