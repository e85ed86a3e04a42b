package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
)

// shortNames are those of the custom resources, as kubectl takes them.
var shortNames = map[string]string{
	"ks": "kustomization", "kustomizations": "kustomization", "app": "application", "applications": "application",
	"hr": "helmrelease", "helmreleases": "helmrelease",
}

// resolve finds the app that an argument names: name, or kind/name.
func resolve(arg, namespace string, known []app.Key) (app.Key, error) {
	kind, name, qualified := strings.Cut(arg, "/")
	if !qualified {
		kind, name = "", arg
	}
	kind = strings.ToLower(kind)
	if long, ok := shortNames[kind]; ok {
		kind = long
	}
	if qualified && namespace != "" && !slices.Contains(slices.Collect(maps.Values(shortNames)), kind) {
		return app.Key{}, usageError("%s: %s is no kind of app; an app of that namespace is named by: %s -n %s", arg, kind, name, kind)
	}
	var found []app.Key
	for _, k := range known {
		if k.Name == name && (kind == "" || strings.ToLower(k.Kind) == kind) {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return app.Key{}, &exit.Error{Code: exit.Cluster, Err: absentError{notFound(arg, namespace, known)}}
	}
	var all []string
	for _, k := range found {
		all = append(all, k.String())
	}
	return app.Key{}, usageError("%s is ambiguous: %s: name the kind or the namespace", arg, strings.Join(all, ", "))
}

// absentError says that no app has a name, or that none is selected, by a list of all apps of the namespace.
type absentError struct{ error }

// unproven takes from an error that an app is absent: there are apps that could not be listed.
func unproven(err error) error {
	var answer *exit.Error
	var absent absentError
	if !errors.As(err, &answer) || !errors.As(err, &absent) {
		return err
	}
	return &exit.Error{Code: answer.Code, Err: absent.error}
}

func notFound(arg, namespace string, known []app.Key) error {
	if len(known) == 0 {
		return fmt.Errorf("%s: %w", arg, errNone("apps", namespace))
	}
	var names []string
	for _, k := range known {
		names = append(names, k.Name)
	}
	return fmt.Errorf("%s: no such app in %s; %s", arg, placeOfNamespace(namespace), meantOrThere(arg[strings.LastIndex(arg, "/")+1:], names))
}

// meantOrThere is the end of a sentence that a name is not among others: which of them may have been meant, else the first ones.
func meantOrThere(name string, there []string) string {
	n := nearest{word: name}
	for _, other := range there {
		n.offer(other, other)
	}
	const shown = 5
	if len(there) > shown && len(n.found) > 0 && len(n.found) <= shown {
		return "did you mean " + strings.Join(n.found, " or ") + "?"
	}
	there = slices.Sorted(slices.Values(there))
	if len(there) > shown {
		there = append(there[:shown], "…")
	}
	return "there are " + strings.Join(there, ", ")
}

// errNone says that a namespace, or the cluster for "", has no apps of some kinds.
func errNone(kinds, namespace string) error {
	if namespace == "" {
		return fmt.Errorf("no %s in the cluster", kinds)
	}
	return fmt.Errorf("no %s in %s (-A for all namespaces)", kinds, placeOfNamespace(namespace))
}

func placeOfNamespace(namespace string) string {
	if namespace == "" {
		return "the cluster"
	}
	return "namespace " + namespace
}

// resourceName is the app as -o name prints it, and as NAME and kubectl take it.
func resourceName(k app.Key) string { return strings.ToLower(k.Kind) + "/" + k.Name }

type completion = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective)

// complete makes the shell complete a flag. The flag was just added, so that an error is one of the program text.
func (f *appFlags) complete(cmd *cobra.Command, flag string, with completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, with); err != nil {
		panic(err)
	}
}

// completeApps asks the cluster for names.
func (f *appFlags) completeApps(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var out []string
	f.ask(cmd.Context(), func(ctx context.Context, c *Cluster) error {
		ns, err := f.namespace()
		if err != nil {
			return err
		}
		known, err := c.Names(ctx, ns)
		for _, k := range known {
			bare := !f.program.argocd() || isApplication(k) // named without its kind
			if bare && strings.HasPrefix(k.Name, begun) && !slices.Contains(args, k.Name) {
				out = append(out, k.Name)
			} else if name := resourceName(k); strings.HasPrefix(name, begun) && begun != "" {
				out = append(out, name)
			}
		}
		return err
	})
	slices.Sort(out)
	return slices.Compact(out), cobra.ShellCompDirectiveNoFileComp
}

func (f *appFlags) completeNamespaces(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	var all []string
	f.ask(cmd.Context(), func(ctx context.Context, c *Cluster) (err error) {
		all, err = c.Namespaces(ctx)
		return err
	})
	return filterPrefix(all, begun), cobra.ShellCompDirectiveNoFileComp
}

// filterPrefix are those that begin as it was typed.
func filterPrefix(all []string, begun string) []string {
	var out []string
	for _, s := range all {
		if strings.HasPrefix(s, begun) {
			out = append(out, s)
		}
	}
	return out
}

// ask gets names for a completion. A cluster that does not answer completes nothing, soon.
func (f *appFlags) ask(ctx context.Context, names func(context.Context, *Cluster) error) {
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	err := f.connected(ctx, func(c *Cluster) error { return names(ctx, c) })
	if err != nil {
		cobra.CompDebugln(err.Error(), false)
	}
}
