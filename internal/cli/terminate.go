package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/view"
)

const longTerminate = `End the operation of an Application that is under way: nothing is waited for any more, and the objects of its
hooks that run are deleted. What was applied stays. The operation fails with "Operation terminated", and does not
begin again by itself: another revision, or truce app sync, begins the next one.`

func (f *appFlags) terminate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "terminate-op NAME...", Short: "End the operation that is under way", Long: longTerminate, Example: "  truce app terminate-op web",
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return f.terminateAll(cmd.Context(), c, args) })
		},
	}
	f.selects(cmd)
	return cmd
}

func (f *appFlags) terminateAll(ctx context.Context, c *Cluster, args []string) error {
	keys, err := f.targets(ctx, c, args)
	if err != nil {
		return err
	}
	return forEach(ctx, f.program, 0, keys, func(ctx context.Context, key app.Key) error {
		return f.edit(ctx, c, view.Edit{App: key, How: view.Alter, Change: dialect.Change{Terminate: true}}, "operation terminating")
	})
}
