package cli

import (
	"cmp"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
)

// tenancyFlags say what tenants of one cluster may do.
type tenancyFlags struct {
	shared, sameNamespace bool
	account, tokenAccount string
	admins                []string
}

// defaultAccount is the account of --multi-tenant, as in Flux's documentation of multi-tenancy lockdown.
const defaultAccount = "default"

func (f *tenancyFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&f.shared, "multi-tenant", false, "tenants share the cluster: sets --no-cross-namespace-refs, --default-service-account=default, --default-kubeconfig-service-account=default, --no-remote-bases (unless --remote-hosts is set) and --no-private-sources, refuses cluster-scoped objects outside of --admin-namespaces, and lets an Application outside of them deploy to its own namespace only")
	flags.StringSliceVar(&f.admins, "admin-namespaces", nil, "with --multi-tenant, namespaces beside the controller's own whose apps are the administrators': without spec.serviceAccountName they have the controller's rights, in all namespaces and for cluster-scoped objects; may be given more than once, or with commas")
	flags.BoolVar(&f.sameNamespace, "no-cross-namespace-refs", false, "refuse apps that refer to a source in another namespace")
	flags.StringVar(&f.account, "default-service-account", "", "service account, in the namespace of the app, that is impersonated for an app without spec.serviceAccountName; empty for the controller's own rights")
	flags.StringVar(&f.tokenAccount, "default-kubeconfig-service-account", "", "service account, in the namespace of the app, whose tokens connect to the cluster of an app with spec.kubeConfig.configMapRef where the ConfigMap names none; empty for the controller's own")
}

func (f *tenancyFlags) complete() (tenancy.Rules, error) {
	rules := tenancy.Rules{Account: f.account, TokenAccount: f.tokenAccount}
	if f.shared || f.sameNamespace {
		rules.References = tenancy.SameNamespace
	}
	if err := f.accounts(); err != nil {
		return rules, err
	}
	if !f.shared {
		if len(f.admins) > 0 {
			return rules, usageError("--admin-namespaces has a meaning with --multi-tenant only")
		}
		return rules, nil
	}
	rules.Sharing = tenancy.Shared
	rules.Account = cmp.Or(rules.Account, defaultAccount)
	rules.TokenAccount = cmp.Or(rules.TokenAccount, defaultAccount)
	for _, name := range f.admins {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return rules, usageError("--admin-namespaces %q: %s", name, problems[0])
		}
	}
	rules.Admins = f.admins
	return rules, nil
}

// accounts checks the names of service accounts.
func (f *tenancyFlags) accounts() error {
	for flag, name := range map[string]string{"--default-service-account": f.account, "--default-kubeconfig-service-account": f.tokenAccount} {
		if problems := validation.IsDNS1123Subdomain(name); name != "" && len(problems) > 0 {
			return usageError("%s %q: %s", flag, name, problems[0])
		}
	}
	return nil
}
