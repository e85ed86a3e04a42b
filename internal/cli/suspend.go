package cli

import (
	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
)

const longSuspend = `Make apps stand still: spec.suspend of a Kustomization, spec.syncPolicy.automated.enabled: false of an
Application. Drift is still seen, nothing is written, until truce app resume. The controller that is running
takes it up at once.`

const longResume = `End the standstill of apps, and what truce app rollback holds. What has drifted meanwhile is corrected at once.`

func (f *appFlags) suspend() *cobra.Command {
	yes := true
	return f.standing(&cobra.Command{
		Use: "suspend NAME...", Short: "Make apps stand still", Long: longSuspend, Example: "  truce app suspend web",
	}, dialect.Change{Suspend: &yes}, "suspended")
}

func (f *appFlags) resume() *cobra.Command {
	no, none := false, ""
	return f.standing(&cobra.Command{
		Use: "resume NAME...", Short: "End the standstill of apps", Long: longResume, Example: "  truce app resume web && truce app wait web",
	}, dialect.Change{Suspend: &no, Pin: &none}, "resumed")
}

func (f *appFlags) standing(cmd *cobra.Command, change dialect.Change, done string) *cobra.Command {
	w := writeFlags{force: true} // it is not about any rule
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.alter(cmd.Context(), args, change, w, done) }
	f.selects(cmd)
	return cmd
}
