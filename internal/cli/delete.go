package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/view"
)

const longDelete = `Delete an app: its custom resource, and with --cascade (the default) the objects that it has applied.
--cascade=false leaves them in the cluster, and no controller reconciles them any more.

It asks first on a terminal; elsewhere it wants -y.`

const exampleDelete = `  truce app delete web
  truce app delete web --cascade=false -y --wait`

type deleteFlags struct {
	*appFlags
	cascade, yes, wait bool
	propagation        string
	timeout            timeoutValue
}

func (f *appFlags) remove() *cobra.Command {
	d := &deleteFlags{appFlags: f, timeout: f.program.defaultTimeout()}
	cmd := &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Delete an app", Long: longDelete, Example: exampleDelete,
		PreRunE: func(*cobra.Command, []string) error {
			return checkOneOf("--propagation-policy", d.propagation, []string{"foreground", "background"})
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return d.run(cmd.Context(), c, args) })
		},
	}
	s := cmd.Flags()
	s.BoolVar(&d.cascade, "cascade", true, "delete the app's objects, too")
	s.BoolVarP(&d.yes, "yes", "y", false, "do not ask")
	s.BoolVar(&d.wait, "wait", false, "wait until all of it is gone")
	s.StringVarP(&d.propagation, "propagation-policy", "p", "foreground", "foreground; background is taken for it: an app goes after its objects")
	s.Var(&d.timeout, "timeout", "how long to wait; 0 for ever")
	f.selects(cmd)
	return cmd
}

func (d *deleteFlags) run(ctx context.Context, c *Cluster, args []string) error {
	if d.propagation == "background" {
		fmt.Fprintln(d.program.env.Err, "note: --propagation-policy background without effect: an app is deleted after its objects")
	}
	keys, err := d.targets(ctx, c, args)
	if err != nil {
		return err
	}
	if err := d.confirm(ctx, keys); err != nil {
		return err
	}
	leave := policy.PruneDelete
	if !d.cascade {
		leave = policy.PruneKeep
	}
	var deleted []app.Key
	err = forEach(ctx, d.program, 0, keys, func(ctx context.Context, k app.Key) error {
		err := d.edit(ctx, c, view.Edit{App: k, How: view.Delete, Change: dialect.Change{Leave: leave}}, "deleted")
		if err == nil {
			deleted = append(deleted, k)
		}
		return err
	})
	if !d.wait || ctx.Err() != nil {
		return err
	}
	return alsoFailed(d.program, err, forEach(ctx, d.program, time.Duration(d.timeout), deleted, func(ctx context.Context, k app.Key) error {
		return controllerGoesOn(awaitGone(ctx, c, k), "the deletion of "+joinApps(deleted[slices.Index(deleted, k):]))
	}))
}

// withOptionalTimeout is a context with a timeout; 0 is none.
func withOptionalTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// confirm asks the person at the terminal. Who cannot be asked must have said so: argocd takes silence for consent, and so does truce
// under that name.
func (d *deleteFlags) confirm(ctx context.Context, keys []app.Key) error {
	p := d.program
	switch {
	case d.yes:
		return nil
	case !isTerminal(p.env.In) && p.argocd():
		return nil
	case !isTerminal(p.env.In):
		return usageError("delete %s: add -y, since there is no terminal to ask at", joinApps(keys))
	}
	what := "and all its objects"
	if !d.cascade {
		what = "and leave its objects"
	}
	return p.ask(ctx, fmt.Sprintf("Delete %s %s?", joinApps(keys), what), "nothing was deleted")
}

func joinApps(keys []app.Key) string {
	var all []string
	for _, k := range keys {
		all = append(all, resourceName(k))
	}
	return strings.Join(all, ", ")
}

// awaitGone waits until an app's custom resource is gone.
func awaitGone(ctx context.Context, c *Cluster, k app.Key) error {
	last := ""
	err := c.Follow(ctx, k, func(all []view.Summary) bool {
		for _, a := range all {
			if a.Key == k {
				last = a.Message
				return false
			}
		}
		return true
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s is not gone in time: %s", k, cmp.Or(last, err.Error()))}
	}
	return err
}
