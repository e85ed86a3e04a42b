package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
		cmd := of.forKind(k)
		if cmd.ValidArgsFunction == nil {
			cmd.ValidArgsFunction = v.completeNames(k)
		}
		if k.Source == "" {
			cmd.Aliases = kindAliases(k, cmd.Name())
			v.cmd.AddCommand(cmd)
			continue
		}
		sources.AddCommand(cmd)
	}
	v.cmd.AddCommand(sources)
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

// isDelivered are sources and apps.
func isDelivered(k resource.Kind) bool { return !k.Notifies }

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

// verbs are the commands whose second word may be a kind as kubectl names it, with or without a name.
var verbs = []string{"get", "reconcile", "suspend", "resume", "export", "tree"}

// asFluxWords rewrites what kubectl's users type into flux's words: get gitrepositories, reconcile kustomization/web. Anything else stays.
func asFluxWords(args []string) []string {
	if len(args) < 2 || !slices.Contains(verbs, args[0]) || strings.HasPrefix(args[1], "-") {
		return args
	}
	word, name, slash := strings.Cut(args[1], "/")
	k, ok := resource.FindKind(word)
	if !ok || !slash && k.Source == "" {
		return args
	}
	out := append([]string{args[0]}, k.Words()...)
	if slash {
		out = append(out, name)
	}
	return append(out, args[2:]...)
}

// args are the arguments of the invocation, in flux's words. argocd's are taken as they are.
func (p *program) args() []string {
	if p.argocd() {
		return p.env.Args
	}
	return asFluxWords(p.env.Args)
}
