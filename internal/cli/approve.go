package cli

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view"
)

const longApprove = `Show the objects that an app is about to prune and that wait for approval, and approve exactly that list.

A prune waits for approval where it would take, within ten minutes, more than 10 objects and more than a fifth of
the app's, more than 5 and more than half, or more than half after the repository, the path or the target namespace
of the app has changed, or its history was replaced by an unrelated one; and always where it would take a Namespace,
a CustomResourceDefinition, a PersistentVolume, a PersistentVolumeClaim or a StatefulSet.

It asks first on a terminal; elsewhere it wants -y. The approval is the annotation truce.dev/approve-prune; it holds
for these very objects, by their uids, and for no later list. The annotation truce.dev/prune-guard of an app sets
another limit: the number of objects that may be pruned within ten minutes without approval, or off.`

const exampleApprove = `  truce app approve-prune web
  truce app approve-prune web -y`

type approveFlags struct {
	*appFlags
	yes bool
}

func (f *appFlags) approvePrune() *cobra.Command {
	a := &approveFlags{appFlags: f}
	cmd := &cobra.Command{
		Use: "approve-prune NAME...", Short: "Show and approve a prune that waits for approval", Long: longApprove, Example: exampleApprove,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return a.run(cmd.Context(), c, args) })
		},
	}
	cmd.Flags().BoolVarP(&a.yes, "yes", "y", false, "do not ask")
	f.selects(cmd)
	return cmd
}

func (a *approveFlags) run(ctx context.Context, c *Cluster, args []string) error {
	keys, err := a.targets(ctx, c, args)
	if err != nil {
		return err
	}
	return forEach(ctx, a.program, 0, keys, func(ctx context.Context, key app.Key) error { return a.approve(ctx, c, key) })
}

// approval is how a status names the approval that a prune waits for.
var approval = regexp.MustCompile(`truce\.dev/approve-prune=(\w+)`)

func (a *approveFlags) approve(ctx context.Context, c *Cluster, key app.Key) error {
	d, err := c.Inspect(ctx, key)
	if err != nil {
		return err
	}
	held := heldApproval(d.Recorded)
	switch {
	case held == "":
		return &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s: no prune waits for approval", key)}
	case held != d.Prune.Token:
		return &exit.Error{Code: exit.Differs, Err: fmt.Errorf(
			"%s: the prune that waits (%s) is not the one that Git and the cluster ask for now (%d objects): try again after the next run", key, held, len(d.Prune.Delete))}
	}
	out := a.program.env.Out
	fmt.Fprintf(out, "%s is about to delete %s:\n", resourceName(key), pluralize(len(d.Prune.Delete), "object", "objects"))
	for _, id := range d.Prune.Delete {
		fmt.Fprintf(out, "  %s\n", id)
	}
	if err := a.confirm(ctx, key); err != nil {
		return err
	}
	return a.edit(ctx, c, view.Edit{App: key, How: view.Alter, Change: dialect.Change{ApprovePrune: held}}, "prune approved")
}

// heldApproval is the approval that the controller waits for, as the status says it; empty for none.
func heldApproval(t dialect.Summary) string {
	texts := []string{t.Message, t.End.Message}
	for _, c := range t.Conditions {
		texts = append(texts, c.Message)
	}
	if found := approval.FindStringSubmatch(strings.Join(texts, "\n")); found != nil {
		return found[1]
	}
	return ""
}

func (a *approveFlags) confirm(ctx context.Context, key app.Key) error {
	p := a.program
	switch {
	case a.yes:
		return nil
	case !isTerminal(p.env.In):
		return usageError("approve the prune of %s: add -y, since there is no terminal to ask at", resourceName(key))
	}
	return p.ask(ctx, "Delete them?", "nothing was approved")
}
