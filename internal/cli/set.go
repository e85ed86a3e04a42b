package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/view"
)

const longSet = `Change an app: this edits its custom resource, and the running controller reconciles it at once.

--ignore-difference leaves fields to others: they are left out of whatever truce applies from then on,
and keep the values that they have. A rule that matches nothing which the app describes, or that names
a field which is not there, is refused with what would match; --force writes it all the same.

Where the custom resource is itself managed from Git, the change does not last: then it is said, with
what to write in Git, and in which file.

For a Kustomization --repo and --revision change its GitRepository, --auto-prune is spec.prune, --self-heal
is spec.remediation, --sync-policy manual is spec.suspend, and --ignore-difference is spec.ignoreDifferences
(the annotation truce.dev/ignore-differences where the cluster's CRD does not have that field);
--kustomize-image is spec.images, --kustomize-namespace spec.targetNamespace.`

const exampleSet = `  truce app set web --ignore-difference '{"group":"apps","kind":"Deployment","jsonPointers":["/spec/replicas"]}'
  truce app set web --sync-policy automated --self-heal --auto-prune
  truce app set web --kustomize-image registry.example/web:1.4.2 --kustomize-replica web=4
  truce app set web --helm-set image.tag=1.4.2 --values values-prod.yaml
  truce app set web --revision v1.4.2 --dry-run -o yaml`

type setFlags struct {
	*appFlags
	changeFlags
	writeFlags
}

func (w *writeFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.dryRun, "dry-run", false, "ask the server what it would say, and write nothing")
	cmd.Flags().BoolVar(&w.force, "force", false, "write a rule also if it matches nothing")
	cmd.Flags().BoolVar(&w.force, "no-check", false, "the same as --force")
}

func (f *appFlags) set() *cobra.Command {
	s := &setFlags{appFlags: f}
	cmd := &cobra.Command{
		Use: "set NAME...", Short: "Change how an app is kept in sync", Long: longSet, Example: exampleSet,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd.Context(), args) },
	}
	s.changeFlags.add(cmd, f)
	s.writeFlags.add(cmd)
	f.selects(cmd)
	f.outputs(cmd, "json", "yaml", "name")
	return cmd
}

func (s *setFlags) run(ctx context.Context, args []string) error {
	change, err := s.change()
	if err != nil {
		return err
	}
	if isEmptyChange(change) {
		return s.program.nothingToDo("Please set at least one option to update")
	}
	return s.alter(ctx, args, change, s.writeFlags, "set")
}

// alter makes one change to each of the apps that are meant.
func (f *appFlags) alter(ctx context.Context, args []string, change dialect.Change, w writeFlags, done string) error {
	return f.connected(ctx, func(c *Cluster) error {
		keys, err := f.targets(ctx, c, args)
		if err != nil {
			return err
		}
		return forEach(ctx, f.program, 0, keys, func(ctx context.Context, k app.Key) error {
			return f.edit(ctx, c, view.Edit{App: k, How: view.Alter, Change: change, Force: w.force, DryRun: w.dryRun}, done)
		})
	})
}
