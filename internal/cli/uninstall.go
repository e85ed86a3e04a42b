package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view/uninstall"
)

const longUninstall = `Remove what truce has written for itself: its inventories, Leases and ConfigMaps, the Secret of its page, the configuration of the
admission witness, the EndpointSlices of its Services, and the finalizers that it has added to Kustomizations, HelmReleases and Applications.
Objects that it has applied stay as they are, and so do the custom resources, their status, and the CustomResourceDefinitions.

End the controller before: kubectl -n truce-system scale deployment truce --replicas=0. While one works, nothing is removed. What has
installed truce removes its Deployment and roles: helm uninstall, or kubectl delete --ignore-not-found -k deploy/uninstall. Deleting an overlay
deletes the namespace truce-system and the custom resources and Secrets in it (docs/uninstall.md).

A finalizer that Flux or Argo CD has added as well stays. An app that is being deleted is gone with its finalizer, and its objects
stay. With --marks the label truce.dev/part-of is removed from applied objects, too. With --namespace it is about one
namespace: what controllers have written there, none of which may work for it any more. Each step can be repeated.`

const exampleUninstall = `  truce uninstall --dry-run
  truce uninstall --yes`

type uninstallFlags struct {
	*appFlags
	dryRun, yes, marks bool
}

// uninstallJSON is the JSON form of what is, or would be, removed.
type uninstallJSON struct {
	APIVersion string     `json:"apiVersion"`
	Kind       string     `json:"kind"`
	DryRun     bool       `json:"dryRun"`
	Running    []string   `json:"running,omitempty"`
	Steps      []stepJSON `json:"steps"`
}

type stepJSON struct {
	Action string `json:"action"`
	Object string `json:"object"`
	What   string `json:"what"`
}

func (p *program) uninstall() *cobra.Command {
	f := &uninstallFlags{appFlags: &appFlags{program: p, config: kubectlFlags()}}
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Remove what truce has written for itself from a cluster", Long: longUninstall, Example: exampleUninstall, Args: cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) }
	flags := cmd.Flags()
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would be removed, and remove nothing")
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&f.marks, "marks", false, "remove the label truce.dev/part-of from applied objects, too")
	f.outputs(cmd, "json", "yaml")
	f.config.AddFlags(flags)
	f.complete(cmd, "context", f.completeContexts)
	return cmd
}

func (f *uninstallFlags) run(ctx context.Context) error {
	c, err := f.dial()
	if err != nil {
		return err
	}
	in := uninstall.Scope{Namespace: *f.config.Namespace}
	if f.marks {
		in.Marks = uninstall.RemoveMarks
	}
	left, err := uninstall.FindInstallation(ctx, c, in)
	if err != nil {
		return err
	}
	if err := f.print(left); err != nil {
		return err
	}
	switch {
	case f.dryRun || len(left.Steps) == 0:
		return nil
	case len(left.Running) > 0:
		return &exit.Error{Code: exit.Differs, Err: fmt.Errorf("nothing was removed: %s: end the controller first, kubectl -n truce-system scale deployment truce --replicas=0", strings.Join(left.Running, "; "))}
	}
	if err := f.confirm(ctx, len(left.Steps)); err != nil {
		return err
	}
	for _, s := range left.Steps {
		if err := uninstall.RemoveInstallation(ctx, c, s); err != nil {
			return err
		}
	}
	fmt.Fprintf(f.program.env.Err, "%d steps done; what has installed truce removes its Deployment and roles\n", len(left.Steps))
	return nil
}

func (f *uninstallFlags) print(left uninstall.Leftovers) error {
	if f.output != "" {
		out := uninstallJSON{APIVersion: schemaVersion, Kind: "Uninstall", DryRun: f.dryRun, Running: left.Running, Steps: []stepJSON{}}
		for _, s := range left.Steps {
			out.Steps = append(out.Steps, stepJSON{string(s.Action), s.Object.String(), s.What})
		}
		return f.structured(out)
	}
	if len(left.Steps) == 0 {
		_, err := fmt.Fprintln(f.program.env.Out, "truce has left nothing here")
		return err
	}
	var t table
	for _, s := range left.Steps {
		t.add(plainCells(string(s.Action), s.Object.String(), s.What)...)
	}
	return f.printTable(&t)
}

// confirm asks the person at the terminal.
func (f *uninstallFlags) confirm(ctx context.Context, steps int) error {
	p := f.program
	if f.yes {
		return nil
	}
	if !isTerminal(p.env.In) {
		return usageError("uninstall: add --yes: without a terminal there is no question")
	}
	return p.ask(ctx, fmt.Sprintf("Carry out these %d steps?", steps), "nothing was removed")
}
