package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view"
)

// appFlags are kubectl's flags, as far as they mean something for apps.
type appFlags struct {
	program *program
	config  *genericclioptions.ConfigFlags
	everyNS bool
	chosen  selection
	output  string // as given; "json" for templates and columns over it
	form    form
	all     bool
	preview view.Preview // of build and diff
}

const longApp = `Work with the apps of a cluster: Flux Kustomizations and HelmReleases, and Argo CD Applications.

NAME is an app's name, or kind/name where two kinds share it. Without -n the namespace
is the one of the kubeconfig's context. Called as argocd, it is argocd, and an Application whose name
no other one has is found wherever it is; names and selectors mean Applications there, and an app of Flux is
named with its kind.`

func (p *program) app() (*cobra.Command, *appFlags) {
	f := &appFlags{program: p, config: kubectlFlags()}
	cmd := &cobra.Command{Use: "app", Aliases: []string{"apps"}, Short: "List, inspect, compare and change apps", Long: longApp, RunE: groupOnly}
	f.config.AddFlags(cmd.PersistentFlags())
	cmd.PersistentFlags().BoolVarP(&f.everyNS, "all-namespaces", "A", false, "apps of all namespaces")
	f.chosen.add(f, cmd)
	cmd.PersistentFlags().StringVarP(f.config.Namespace, "app-namespace", "N", "", "argocd's word for --namespace")
	f.complete(cmd, "context", f.completeContexts)
	f.complete(cmd, "namespace", f.completeNamespaces)
	f.complete(cmd, "app-namespace", f.completeNamespaces)
	cmd.AddCommand(
		f.list(), f.get(), f.diff(), f.sync(), f.wait(), f.history(), f.rollback(), f.terminate(), f.suspend(), f.resume(), f.approvePrune(),
		f.create(), f.set(), f.unset(), f.remove(),
	)
	return cmd, f
}

// connected runs with the cluster that the flags name.
func (f *appFlags) connected(ctx context.Context, run func(*Cluster) error) error {
	t, err := f.target()
	if err != nil {
		return err
	}
	c, err := f.program.backend.Connect(ctx, t)
	if err != nil {
		return err
	}
	defer c.Close()
	err = run(c)
	if c.leavesOut() {
		f.program.endLine()
		for _, why := range c.Refused() {
			_, _ = fmt.Fprintln(f.program.env.Err, "note: "+why) // a closed stderr is no failure of the command
		}
	}
	return err
}

// dial returns a client of the cluster that the flags name.
func (f *appFlags) dial() (*cluster.Client, error) {
	t, err := f.target()
	if err != nil {
		return nil, err
	}
	return cluster.Connect(cluster.Options{Target: t, UserAgent: "truce/" + f.program.env.Version})
}

// namespace is the one that is asked for: -n, or the context's; "" for all. Argo CD's apps are one list, wherever they are.
func (f *appFlags) namespace() (string, error) {
	if f.everyNS || f.program.argocd() && *f.config.Namespace == "" {
		return "", nil
	}
	ns, _, err := f.config.ToRawKubeConfigLoader().Namespace()
	return ns, err
}

func checkOneOf(flag, value string, forms []string) error {
	for _, form := range forms {
		if value == form {
			return nil
		}
	}
	return usageError("%s %q: want %s", flag, value, strings.Join(forms, ", "))
}

// selects adds --all, for commands that would otherwise want names.
func (f *appFlags) selects(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.all, "all", false, "all apps of the namespace")
	cmd.ValidArgsFunction = f.completeApps
}

// targets are the apps that a command is about: those that are named, or those that -l, -A or --all select.
func (f *appFlags) targets(ctx context.Context, c *Cluster, args []string) ([]app.Key, error) {
	ns, err := f.namespace()
	if err != nil {
		return nil, err
	}
	if len(args) == 0 {
		return f.selected(ctx, c, ns)
	}
	if f.all || !f.chosen.empty() {
		return nil, usageError("names and --all, -l or --field-selector exclude each other")
	}
	known, err := c.Names(ctx, ns)
	if err != nil {
		return nil, err
	}
	partial := c.leavesOut()
	var out []app.Key
	for _, arg := range args {
		key, err := f.resolve(arg, ns, known)
		if err != nil && partial {
			err = unproven(err)
		}
		if err != nil {
			return nil, f.appElsewhere(ctx, c, arg, ns, err)
		}
		out = append(out, key)
	}
	return out, nil
}

// appElsewhere completes the answer to a name that a namespace does not have by the namespaces that have it, as far as the user may know.
func (f *appFlags) appElsewhere(ctx context.Context, c *Cluster, arg, namespace string, err error) error {
	var answer *exit.Error
	if namespace == "" || !errors.As(err, &answer) || answer.Code != exit.Cluster {
		return err
	}
	known, listErr := c.Names(ctx, "")
	if listErr != nil {
		return err // the names of one namespace could be listed: what the others have is an addition
	}
	key, findErr := f.resolve(arg, "", known)
	if findErr != nil {
		return err
	}
	return &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s: not in namespace %s; %s is in %s: -n %s", arg, namespace, resourceName(key), key.Namespace, key.Namespace)}
}

// resolve finds the app that an argument names. For argocd the namespace argocd comes first, an argument may be namespace/name, and a name without a
// kind is an Application's.
func (f *appFlags) resolve(arg, namespace string, known []app.Key) (app.Key, error) {
	if !f.program.argocd() {
		return resolve(arg, namespace, known)
	}
	within, name, qualified := strings.Cut(arg, "/")
	if !qualified {
		within, name = argocdNamespace, arg
	}
	for _, k := range known {
		if namespace == "" && isApplication(k) && k.Namespace == within && k.Name == name {
			return k, nil
		}
	}
	if qualified {
		return resolve(arg, namespace, known)
	}
	return resolveApplication(arg, namespace, known)
}

func (f *appFlags) selected(ctx context.Context, c *Cluster, ns string) ([]app.Key, error) {
	if !f.all && !f.everyNS && f.chosen.empty() {
		return nil, usageError("name an app, or select with --all, -A or -l")
	}
	found, err := f.summaries(ctx, c, ns)
	if err != nil {
		return nil, err
	}
	var out []app.Key
	for _, s := range found {
		out = append(out, s.Key)
	}
	if len(out) > 0 {
		return out, nil
	}
	err = &exit.Error{Code: exit.Cluster, Err: absentError{f.noApps(ns)}}
	if c.leavesOut() {
		err = unproven(err)
	}
	return nil, err
}

// summaries are the selected apps as they stand now.
func (f *appFlags) summaries(ctx context.Context, c *Cluster, ns string) ([]view.Summary, error) {
	match, err := f.matches()
	if err != nil {
		return nil, err
	}
	var out []view.Summary
	err = c.Follow(ctx, app.Key{Namespace: ns}, func(all []view.Summary) bool {
		out = matching(all, match)
		return true
	})
	return out, err
}
