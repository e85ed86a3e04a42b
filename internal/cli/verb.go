package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// verb is one of flux's commands about custom resources, with a command for each kind below it: truce get kustomizations.
type verb struct {
	*appFlags
	cmd *cobra.Command
}

// newVerb returns a command with kubectl's flags and none below it.
func (p *program) newVerb(cmd *cobra.Command) *verb {
	v := &verb{appFlags: &appFlags{program: p, config: kubectlFlags()}, cmd: cmd}
	cmd.RunE = groupOnly
	v.config.AddFlags(cmd.PersistentFlags())
	v.complete(cmd, "context", v.completeContexts)
	v.complete(cmd, "namespace", v.completeNamespaces)
	return v
}

// allNamespaces adds -A.
func (v *verb) allNamespaces() {
	v.cmd.PersistentFlags().BoolVarP(&v.everyNS, "all-namespaces", "A", false, "of all namespaces")
}

// kindCommand returns the command for the kinds, named as flux names them: kustomization, or source git.
type kindCommand interface {
	forKind(k resource.Kind) *cobra.Command
}

// addKinds adds a command for each kind that a verb is about, those of sources below the command source.
func (v *verb) addKinds(of kindCommand, fits func(resource.Kind) bool) {
	sources := &cobra.Command{Use: "source", Aliases: []string{"sources"}, Short: firstWord(v.cmd.Short) + " sources", RunE: groupOnly}
	for _, k := range resource.AllKinds() {
		if !fits(k) {
			continue
		}
		v.addKubectlWords(of, k)
		cmd := v.kindCommand(of, k)
		if k.Source == "" {
			cmd.Aliases = kindAliases(k, cmd.Name())
			v.cmd.AddCommand(cmd)
			continue
		}
		sources.AddCommand(cmd)
	}
	v.cmd.AddCommand(sources)
	knowSwitches(sources)
	knowSwitches(v.cmd)
}

// knowSwitches makes the switches of the commands below one known to it, hidden: of a flag that it does not know cobra takes the next word for the
// value, and does not find the command that the word names.
func knowSwitches(group *cobra.Command) {
	for _, cmd := range group.Commands() {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.NoOptDefVal == "" || group.Flags().Lookup(f.Name) != nil || group.PersistentFlags().Lookup(f.Name) != nil {
				return
			}
			known := *f
			known.Hidden = true
			group.Flags().AddFlag(&known)
		})
	}
}

// kindCommand is the command for a kind, which completes its names.
func (v *verb) kindCommand(of kindCommand, k resource.Kind) *cobra.Command {
	cmd := of.forKind(k)
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = v.completeNames(k)
	}
	return cmd
}

func firstWord(text string) string {
	first, _, _ := strings.Cut(text, " ")
	return first
}

// kindAliases are the other words for a kind.
func kindAliases(k resource.Kind, name string) []string {
	all := append([]string{k.Singular, k.Plural}, k.Short...)
	return slices.DeleteFunc(all, func(word string) bool { return word == name })
}

func anyKind(resource.Kind) bool { return true }

// isSteered are the kinds that a command can suspend.
func isSteered(k resource.Kind) bool { return !k.Passive && !k.Annotated }

// isRequested are the kinds that a command can request.
func isRequested(k resource.Kind) bool { return !k.Passive && !k.Unrequested }

// completeNames asks the cluster for the names of a kind.
func (f *appFlags) completeNames(k resource.Kind) completion {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		var out []string
		f.ask(cmd.Context(), func(ctx context.Context, c *Cluster) error {
			ns, err := f.namespace()
			if err != nil {
				return err
			}
			out, err = c.Objects(ctx, k.Resource(), ns)
			return err
		})
		out = slices.DeleteFunc(out, func(name string) bool { return slices.Contains(args, name) })
		return filterPrefix(out, begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// namedResources are the custom resources of one kind that arguments name: all of the namespace for none of them.
func (f *appFlags) namedResources(ctx context.Context, c *Cluster, k resource.Kind, names []string) ([]resource.Resource, error) {
	ns, err := f.namespace()
	if err != nil {
		return nil, err
	}
	all, err := c.ListResources(ctx, resource.Query{Kinds: []resource.Kind{k}, Namespace: ns})
	if err == nil && len(all.Refused) > 0 {
		err = all.Refused[0]
	}
	if err != nil || len(names) == 0 {
		return all.Items, err
	}
	var out []resource.Resource
	for _, name := range names {
		found := slices.DeleteFunc(slices.Clone(all.Items), func(r resource.Resource) bool { return r.Key.Name != name })
		if len(found) == 0 {
			return nil, errNoResource(k, name, ns, resourceNames(all.Items))
		}
		out = append(out, found...)
	}
	return out, nil
}

func resourceNames(all []resource.Resource) []string {
	var out []string
	for _, r := range all {
		out = append(out, r.Key.Name)
	}
	return out
}

// errNoResource says what there is instead.
func errNoResource(k resource.Kind, name, namespace string, there []string) error {
	text := fmt.Sprintf("%s/%s is not in %s", k.Singular, name, placeOfNamespace(namespace))
	switch {
	case len(there) > 0:
		text += "; " + meantOrThere(name, there)
	case namespace != "":
		text += ", which has no " + k.Plural + " (-n names another)"
	}
	return &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s", text)}
}

// addKubectlWords adds what kubectl's users call a kind and an object of it, as hidden commands of the verb: gitrepositories, kustomization/web. So
// cobra finds them wherever flags stand. The objects are those that the command line names.
func (v *verb) addKubectlWords(of kindCommand, k resource.Kind) {
	if k.Source != "" {
		cmd := v.kindCommand(of, k)
		_, names, _ := strings.Cut(cmd.Use, " ")
		cmd.Use, cmd.Aliases, cmd.Hidden = k.Plural+" "+names, append([]string{k.Singular, k.Kind, k.Resource()}, k.Short...), true
		v.cmd.AddCommand(cmd)
	}
	for _, arg := range v.program.env.Args {
		if name := nameOfKind(k, arg); name != arg {
			v.cmd.AddCommand(startingWith(v.kindCommand(of, k), k, arg))
		}
	}
}

// startingWith is a command whose first argument, KIND/NAME, is its own name. Further ones may be like it, or names alone.
func startingWith(cmd *cobra.Command, k resource.Kind, first string) *cobra.Command {
	accepts, run := cmd.Args, cmd.RunE
	all := func(args []string) []string {
		var names []string
		for _, arg := range append([]string{first}, args...) {
			names = append(names, nameOfKind(k, arg))
		}
		return names
	}
	cmd.Use, cmd.Aliases, cmd.Hidden = first, nil, true
	if accepts != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error { return accepts(cmd, all(args)) }
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, all(args)) }
	return cmd
}

// nameOfKind returns the name in KIND/NAME of that kind, and any other argument as it is.
func nameOfKind(k resource.Kind, arg string) string {
	word, name, slash := strings.Cut(arg, "/")
	if found, ok := resource.FindKind(word); slash && ok && found.GVK == k.GVK {
		return name
	}
	return arg
}
