package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

const longDashboard = `Print a link to the status page of the controller. The link logs in the first browser that opens it, for
12 hours.

The page of a controller in a pod is forwarded to this machine until Ctrl-C, as kubectl port-forward does.
You need the right to get the Secret truce-page in the controller's namespace and, for a pod, to create
pods/portforward there: Role truce-page.

Exit codes: 0 done, 2 usage, 3 cluster, or no controller has a page.`

const exampleDashboard = `  truce dashboard
  truce dashboard -n team-a   # of the controller that works for this namespace`

// dashboard prints a link to the status page.
func (p *program) dashboard() *cobra.Command {
	f := &appFlags{program: p, config: kubectlFlags()}
	cmd := &cobra.Command{
		Use: "dashboard", Short: "Print a link to the controller's status page", Long: longDashboard, Example: exampleDashboard, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.dashboard(cmd.Context()) },
	}
	f.config.AddFlags(cmd.Flags())
	f.complete(cmd, "context", f.completeContexts)
	f.complete(cmd, "namespace", f.completeNamespaces)
	return cmd
}

func (f *appFlags) dashboard(ctx context.Context) error {
	return f.connected(ctx, func(c *Cluster) error {
		link, pod, err := c.Dashboard(ctx, *f.config.Namespace)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(f.program.env.Out, link); err != nil || pod == "" {
			return err
		}
		fmt.Fprintf(f.program.env.Err, "forwarded to %s until Ctrl-C\n", pod)
		<-ctx.Done()
		return nil
	})
}
