package cli

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/truce-gitops/truce/internal/cluster"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/tools/clientcmd"
)

// kubectlFlags are those of kubectl's that say which cluster is meant.
func kubectlFlags() *genericclioptions.ConfigFlags {
	empty := func() *string { s := ""; return &s }
	timeout := "0"
	return &genericclioptions.ConfigFlags{
		KubeConfig: empty(), Context: empty(), Namespace: empty(),
		Impersonate: empty(), ImpersonateUID: empty(), ImpersonateGroup: &[]string{}, Timeout: &timeout,
	}
}

// target is the cluster that the flags name.
func (f *appFlags) target() (cluster.Target, error) {
	c := f.config
	t := cluster.Target{Kubeconfig: *c.KubeConfig, Context: *c.Context}
	if c.Timeout == nil {
		return t, nil
	}
	t.As, t.AsUID, t.AsGroups = *c.Impersonate, *c.ImpersonateUID, *c.ImpersonateGroup
	if t.As == "" && (t.AsUID != "" || len(t.AsGroups) > 0) {
		return t, usageError("--as-uid, --as-group: requesting uid or groups without impersonating a user: name one with --as")
	}
	var err error
	if t.Timeout, err = clientcmd.ParseTimeout(*c.Timeout); err != nil {
		return t, usageError("--request-timeout %q: %w", *c.Timeout, err)
	}
	return t, nil
}

// completeContexts reads the kubeconfig.
func (f *appFlags) completeContexts(_ *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	config, err := f.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
	return filterPrefix(slices.Sorted(maps.Keys(config.Contexts)), begun), cobra.ShellCompDirectiveNoFileComp
}
