package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longRollback = `Apply an older revision: the one with the ID of truce app history, or the one before the newest.

Automated sync is held back, or the next look at Git would undo it: an Application gets
spec.syncPolicy.automated.enabled: false, a Kustomization the annotation truce.dev/revision. Drift from the older
revision is corrected in a Kustomization, and reported in an Application. truce app resume lets the app
follow Git again. argocd refuses a rollback while automated sync is on.

The sync of an Application brings back what the entry was synced from, runs no hooks, as in Argo CD, and leaves
the spec's sources as they are. Where those differ in more than their revisions (other images or parameters since
then), the rollback is refused before anything is written: set them back with truce app set, or revert in Git.`

const exampleRollback = `  truce app rollback web
  truce app rollback web 7
  truce app resume web`

type rollbackFlags struct {
	*appFlags
	prune   bool
	timeout timeoutValue
}

func (f *appFlags) rollback() *cobra.Command {
	r := &rollbackFlags{appFlags: f, timeout: f.program.defaultTimeout()}
	cmd := &cobra.Command{
		Use: "rollback NAME [ID]", Short: "Go back to an older revision", Long: longRollback, Example: exampleRollback, Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return r.run(cmd.Context(), c, args) })
		},
	}
	cmd.Flags().BoolVar(&r.prune, "prune", false, "delete what the older revision does not have")
	cmd.Flags().Var(&r.timeout, "timeout", "how long to wait; 0 for ever")
	cmd.ValidArgsFunction = f.completeApps
	return cmd
}

func (r *rollbackFlags) run(ctx context.Context, c *Cluster, args []string) error {
	keys, err := r.targets(ctx, c, args[:1])
	if err != nil {
		return err
	}
	k := keys[0]
	to, err := findRevision(ctx, c, k, args[1:])
	if err != nil {
		return err
	}
	return r.back(ctx, c, k, to)
}

func (r *rollbackFlags) back(ctx context.Context, c *Cluster, k app.Key, to dialect.HistoryEntry) error {
	begin, p := time.Now(), r.program.progress(k)
	before, err := c.AppState(ctx, k)
	if err != nil {
		return err
	}
	if before.State.Suspended {
		return p.suspended()
	}
	run := dialect.Run{Token: newToken(begin), By: "truce app rollback", Revision: commitOf(to.Revision), Entry: &to.ID, Prune: &r.prune}
	change := dialect.Change{Pin: &run.Revision, Run: &run}
	if err := r.edit(ctx, c, view.Edit{App: k, How: view.Alter, Change: change, Force: true}, fmt.Sprintf("goes back to %s (ID %d)", explain.ShortRevision(to.Revision), to.ID)); err != nil {
		return err
	}
	fmt.Fprintf(r.program.env.Err, "automated sync is held back until: %s app resume %s -n %s\n", r.program.displayName(), k.Name, k.Namespace)
	ctx, cancel := withOptionalTimeout(ctx, time.Duration(r.timeout))
	defer cancel()
	last, err := awaitApp(ctx, c, k, func(a view.Summary) bool {
		p.say(a.Message)
		return a.Settled && resource.IsAnswered(run.Token, a.Handled, before.HandledRequest)
	})
	if err != nil {
		return controllerGoesOn(err, "the rollback of "+resourceName(k))
	}
	return p.part(last, begin)
}

func newToken(now time.Time) string { return now.UTC().Format(time.RFC3339Nano) }

// commitOf is the commit of a revision such as main@sha1:0123…, or the digest of an artifact's manifest as latest@sha256:0123… has it; another text
// is one by itself.
func commitOf(revision string) string { return revision[strings.LastIndexByte(revision, ':')+1:] }
