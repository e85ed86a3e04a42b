package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

const longSuspend = `Make apps stand still: spec.suspend is set. Drift is still seen, nothing is written, until
truce app resume. The controller that is running takes it up at once.`

func (f *appFlags) suspend() *cobra.Command {
	cmd := &cobra.Command{
		Use: "suspend NAME...", Short: "Make apps stand still", Long: longSuspend, Example: "  truce app suspend web",
		RunE: func(cmd *cobra.Command, args []string) error { return f.stand(cmd.Context(), args, Suspended) },
	}
	f.selects(cmd)
	return cmd
}

func (f *appFlags) resume() *cobra.Command {
	cmd := &cobra.Command{
		Use: "resume NAME...", Short: "End the standstill of apps", Example: "  truce app resume web && truce app wait web",
		Long: "End the standstill of apps: spec.suspend is taken back. What has drifted meanwhile is corrected at once.",
		RunE: func(cmd *cobra.Command, args []string) error { return f.stand(cmd.Context(), args, Resumed) },
	}
	f.selects(cmd)
	return cmd
}

func (f *appFlags) stand(ctx context.Context, args []string, to Standing) error {
	return f.connected(ctx, func(c *Cluster) error {
		keys, err := f.targets(ctx, c, args)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if err := c.Suspend(ctx, k, to); err != nil {
				return err
			}
			if _, err := fmt.Fprintf(f.program.env.Out, "%s %s\n", resourceName(k), to); err != nil {
				return err
			}
		}
		return nil
	})
}
