package cli

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

const longAdopt = `Take an app over from Flux or Argo CD, whose controller must no longer work on it: suspended
(spec.suspend of a Kustomization or HelmRelease, the annotation argocd.argoproj.io/skip-reconcile: "true" of an
Application), or not running in the cluster at all.

What the other has applied becomes truce's, field by field, at the values that it has: no live value
changes by that. A field that an autoscaler claims is handed over first. Then Git is applied. What the
other has put there and Git no longer names is pruned, as the other would have done.

It is refused where the account that will do the work may not patch, create or delete all that it has to: else some
objects would be truce's, and the others no controller's.

First it is shown what differs: what the first apply would change, take away and prune. --dry-run ends
there. The controller does the work, object by object, and completes it after a crash; what cannot be
adopted is said on the app (truce app get), and the others are. The command waits until all objects have
moved: until no other applies them any more. Where nothing moves and no controller seems to run
(by its Lease and its status page), it says so after 10 seconds and ends; the app is adopted when one runs.

Exit codes: 0 adopted, 1 the other still works on it (it is said how to end that), a right is missing, an object is not adopted, or not
in time.

If the other controller works on an adopted app again, truce only observes the app, and says so; once the other has
stopped, truce adopt takes the app over again.`

const exampleAdopt = `  flux suspend kustomization web -n flux-system
  truce adopt web -n flux-system --dry-run
  truce adopt web -n flux-system`

const longRelease = `Hand an app back to Flux or Argo CD: what is truce's becomes kustomize-controller's, helm-controller's or
argocd-controller's, field by field, and truce's label and record go. No live value changes. The inventory in the status is
the other's own form already. truce only observes the app from then on.

First it is printed what the other will change when it works on the app again: it applies all that Git names, an
autoscaled count included. --dry-run ends there.

The controller does the work, and completes it after a crash. The command waits until nothing of truce's is
left, as truce adopt does. Afterwards let the other go on (flux resume kustomization NAME; without the
annotation argocd.argoproj.io/skip-reconcile).

Exit codes: 0 released, 1 not in time.`

type adoptFlags struct {
	*appFlags
	writeFlags
	wait    bool
	timeout timeoutValue
}

func (p *program) moveCommand(cmd *cobra.Command) *adoptFlags {
	f := &adoptFlags{appFlags: &appFlags{program: p, config: kubectlFlags()}, writeFlags: writeFlags{force: true}, timeout: timeoutValue(5 * time.Minute)}
	f.config.AddFlags(cmd.Flags())
	cmd.Flags().BoolVarP(&f.everyNS, "all-namespaces", "A", false, "apps of all namespaces")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and write nothing")
	cmd.Flags().BoolVar(&f.wait, "wait", true, "wait until all objects have moved")
	cmd.Flags().Var(&f.timeout, "timeout", "how long to wait; 0 for ever")
	f.complete(cmd, "context", f.completeContexts)
	f.complete(cmd, "namespace", f.completeNamespaces)
	cmd.ValidArgsFunction = f.completeApps
	return f
}

func (p *program) adopt() *cobra.Command {
	cmd := &cobra.Command{Use: "adopt APP", Short: "Take an app over from Flux or Argo CD", Long: longAdopt, Example: exampleAdopt, Args: cobra.ExactArgs(1)}
	f := p.moveCommand(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.connected(cmd.Context(), func(c *Cluster) error { return f.adopt(cmd.Context(), c, args) })
	}
	return cmd
}

func (p *program) release() *cobra.Command {
	cmd := &cobra.Command{
		Use: "release APP", Short: "Hand an app back to Flux or Argo CD", Long: longRelease, Example: "  truce release web -n flux-system", Args: cobra.ExactArgs(1),
	}
	f := p.moveCommand(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return f.connected(cmd.Context(), func(c *Cluster) error { return f.release(cmd.Context(), c, args) })
	}
	return cmd
}

func (f *adoptFlags) adopt(ctx context.Context, c *Cluster, args []string) error {
	keys, err := f.targets(ctx, c, args)
	if err != nil {
		return err
	}
	a, err := c.Adoption(ctx, keys[0])
	if err != nil {
		return err
	}
	v := detailPrinter{term: f.program.term}
	if err := v.diff(f.program.env.Out, a.Detail); err != nil {
		return err
	}
	for _, n := range a.Detail.Report.Notes {
		fmt.Fprintln(f.program.env.Err, "note: "+redact.MaskText(n))
	}
	done := "adopted (" + string(a.Way) + ")"
	if a.Already {
		fmt.Fprintf(f.program.env.Out, "%s is adopted already (%s)\n", resourceName(keys[0]), a.Way)
	} else if err := f.begin(ctx, c, keys[0], dialect.Change{Way: a.Way, At: a.At}, done); err != nil {
		return err
	}
	way := moveProgress{app: keys[0], done: done}
	for _, o := range a.Detail.Report.Objects {
		switch {
		case o.Problem != "":
			way.stays = append(way.stays, o)
		case !isUnmanaged(o): // what is created once, and not applied, stays whose it is: a definition of a chart
			way.moves = append(way.moves, report.ListedObject{ID: o.ID, Version: o.Version})
		}
	}
	return f.end(ctx, c, way)
}

// isUnmanaged reports whether an object is there and is not applied, since Git asks not to.
func isUnmanaged(o report.Object) bool {
	return slices.ContainsFunc(o.Findings, func(f report.Finding) bool { return f.Kind == compare.Unmanaged })
}

func (f *adoptFlags) release(ctx context.Context, c *Cluster, args []string) error {
	keys, err := f.targets(ctx, c, args)
	if err != nil {
		return err
	}
	state, err := c.AppState(ctx, keys[0])
	if err != nil {
		return err
	}
	if err := f.foretell(ctx, c, keys[0]); err != nil {
		return err
	}
	if err := f.begin(ctx, c, keys[0], dialect.Change{Way: policy.HandBack}, "released"); err != nil {
		return err
	}
	way := moveProgress{app: keys[0], done: "released"}
	for _, o := range state.Objects {
		way.moves = append(way.moves, report.ListedObject{ID: o.ID, Version: o.Version})
	}
	return f.end(ctx, c, way)
}

// foretell prints what the other controller changes when it works on the app again: it applies all that Git names, and knows no claims.
// Where that cannot be found out, a note says so: it does not stop a release.
func (f *adoptFlags) foretell(ctx context.Context, c *Cluster, k app.Key) error {
	d, err := c.Inspect(ctx, k)
	if err == nil {
		err = stopped(d)
	}
	if err != nil {
		fmt.Fprintf(f.program.env.Err, "note: what %s will change is not known: %s\n", previousController(k), redact.MaskText(err.Error()))
		return nil
	}
	for _, line := range fieldsReset(d) {
		if _, err := fmt.Fprintln(f.program.env.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// whoResets is what sets drifted fields of an app that is given back: of a Helm release the next upgrade, unless spec.driftDetection asks for it before.
func whoResets(d view.Detail) string {
	who := previousController(d.Report.App)
	if d.App.Release != nil && d.App.Policy.Remediation != policy.Remediate {
		who += "'s next upgrade"
	}
	return who
}

// fieldsReset names the fields that hold another value than Git's, and will be set to that by the controller that applies Git without claims.
func fieldsReset(d view.Detail) []string {
	who := whoResets(d)
	var out []string
	for _, o := range d.Report.Objects {
		for _, x := range o.Findings {
			if x.Desired == nil || x.Kind != compare.Changed && x.Kind != compare.Missing || len(x.Path) == 0 {
				continue
			}
			line := fmt.Sprintf("%s will set %s of %s from %s to %s", who, fieldPath(x), o.ID.Kind+" "+fullName(o.ID), report.FormatValue(x.Live), report.FormatValue(x.Desired))
			if p := d.Origin(o.ID, x.Path); p.Known() {
				line += ", at " + p.String()
			}
			if x.Claimant != "" {
				line += "; " + x.Claimant + " owns it (ceded): to keep the value, delete the field there first"
			}
			out = append(out, line)
		}
	}
	return out
}

// previousController is the controller that an app is given back to, as people know it.
func previousController(k app.Key) string {
	if k.Kind == "Application" {
		return "Argo CD"
	}
	return "Flux"
}

// begin writes down what the controller is to do.
func (f *adoptFlags) begin(ctx context.Context, c *Cluster, k app.Key, change dialect.Change, done string) error {
	if !f.dryRun {
		done = "to be " + done
	}
	return f.edit(ctx, c, view.Edit{App: k, How: view.Alter, Change: change, Force: true, DryRun: f.dryRun}, done)
}
