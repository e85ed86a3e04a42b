package cli

import (
	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
)

const longSuspend = `Suspend reconciliation of apps: a Kustomization or a HelmRelease gets spec.suspend: true, an Application the
annotation argocd.argoproj.io/skip-reconcile: "true". Until truce app resume, drift is reported and nothing is
written; what is requested of an Application waits, and one that is deleted stays, with its objects. The running
controller reacts at once.`

const longResume = `Resume reconciliation of apps, also after truce app rollback. Drift is corrected at once.`

func (f *appFlags) suspend() *cobra.Command {
	return f.standing(&cobra.Command{
		Use: "suspend NAME...", Short: "Suspend reconciliation of apps", Long: longSuspend, Example: "  truce app suspend web",
	}, suspended(), "suspended")
}

func (f *appFlags) resume() *cobra.Command {
	return f.standing(&cobra.Command{
		Use: "resume NAME...", Short: "Resume reconciliation of apps", Long: longResume, Example: "  truce app resume web && truce app wait web",
	}, resumed(), "resumed")
}

// suspended is the change that suspends an app, and resumed the one that ends that.
func suspended() dialect.Change {
	yes := true
	return dialect.Change{Suspend: &yes}
}

func resumed() dialect.Change {
	no, none := false, ""
	return dialect.Change{Suspend: &no, Pin: &none}
}

func (f *appFlags) standing(cmd *cobra.Command, change dialect.Change, done string) *cobra.Command {
	w := writeFlags{force: true} // it is not about any rule
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.alter(cmd.Context(), args, change, w, done) }
	f.selects(cmd)
	return cmd
}
