package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report/explain"
)

// objectFlags are those of the commands about one object of the cluster, of any owner.
type objectFlags struct {
	*appFlags
	question explain.Question
	of       string
}

func (p *program) object() *objectFlags {
	return &objectFlags{appFlags: &appFlags{program: p, config: kubectlFlags()}}
}

// addOf adds the flag of an object in another cluster.
func (f *objectFlags) addOf(cmd *cobra.Command) {
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&f.of, "of", "", "`APP` whose objects are in another cluster, as KIND/NAME: its object there is meant")
	f.complete(cmd, "of", f.completeApps)
}

func (f *objectFlags) add(cmd *cobra.Command, forms ...string) {
	cmd.Flags().SortFlags = false
	f.config.AddFlags(cmd.Flags())
	f.outputs(cmd, forms...)
	f.complete(cmd, "context", f.completeContexts)
	f.complete(cmd, "namespace", f.completeNamespaces)
	cmd.ValidArgsFunction = f.completeObject
}

// parse reads KIND/NAME or KIND NAME, and what comes after it.
func (f *objectFlags) parse(args []string) (rest []string, err error) {
	kind, name, ok := strings.Cut(args[0], "/")
	rest = args[1:]
	if !ok && len(rest) > 0 {
		name, rest = rest[0], rest[1:]
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return nil, usageError("%s: name an object as KIND/NAME or KIND NAME, as for kubectl", strings.Join(args, " "))
	}
	f.question.Kind, f.question.Name = kind, name
	f.question.Namespace, err = f.namespace()
	return rest, err
}

// asked gathers what the question asks, and runs with it. Where the look at the app was stopped, the exit code says so in the end.
func (f *objectFlags) asked(ctx context.Context, run func(explain.Subject) error) error {
	return f.connected(ctx, func(c *Cluster) error {
		var err error
		if f.question.Of, err = f.appThere(ctx, c); err != nil {
			return err
		}
		s, err := c.Explain(ctx, f.question)
		if err != nil {
			return err
		}
		if err := run(s); err != nil {
			return err
		}
		if code := stoppedAt(s.Stage, s.Reason); s.Stage != "" && code != exit.Same {
			return &exit.Error{Code: code} // the story has said why
		}
		return nil
	})
}

// appThere resolves --of: an app of the object's namespace, or of another one, since the other cluster has namespaces of its own.
func (f *objectFlags) appThere(ctx context.Context, c *Cluster) (app.Key, error) {
	if f.of == "" {
		return app.Key{}, nil
	}
	known, err := c.Names(ctx, f.question.Namespace)
	if err != nil {
		return app.Key{}, err
	}
	key, err := resolve(f.of, f.question.Namespace, known)
	var answer *exit.Error
	if !errors.As(err, &answer) || answer.Code != exit.Cluster {
		return key, err
	}
	if known, listErr := c.Names(ctx, ""); listErr == nil { // else the user may know of this namespace alone
		return resolve(f.of, "", known)
	}
	return app.Key{}, err
}

// completeObject completes kinds, then names, then fields.
func (f *objectFlags) completeObject(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	directive := cobra.ShellCompDirectiveNoFileComp
	var out []string
	f.ask(cmd.Context(), func(ctx context.Context, c *Cluster) (err error) {
		namespace, err := f.namespace()
		if err != nil {
			return err
		}
		kind, _, slash := strings.Cut(begun, "/")
		switch {
		case len(args) == 0 && slash:
			out, err = c.Objects(ctx, kind, namespace)
			out = prefixed(kind+"/", out)
		case len(args) == 0:
			out, err = c.Objects(ctx, "", "")
			for i := range out {
				out[i] += "/"
			}
			directive |= cobra.ShellCompDirectiveNoSpace
		case len(args) == 1 && !strings.Contains(args[0], "/"):
			out, err = c.Objects(ctx, args[0], namespace)
		case cmd.Name() == "why":
			directive |= cobra.ShellCompDirectiveNoSpace
			out, err = f.completePath(ctx, c, args, begun)
		}
		return err
	})
	return filterPrefix(out, begun), directive
}

func prefixed(prefix string, texts []string) []string {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = prefix + out[i]
	}
	return out
}

// completePath reads the object and offers the fields one level deeper than what is typed.
func (f *objectFlags) completePath(ctx context.Context, c *Cluster, args []string, begun string) ([]string, error) {
	rest, err := f.parse(args)
	if err != nil || len(rest) > 0 {
		return nil, err
	}
	f.question.Reach = explain.ReachLive
	s, err := c.Explain(ctx, f.question)
	if err != nil {
		return nil, err
	}
	return s.Complete(begun), nil
}
