package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view/preflight"
)

const longCheck = `Check whether truce can work in a cluster, before and after it is installed. It writes nothing.

  server             the version of the API server
  controller         the Deployment, and whether it is ready
  permissions        those of its ServiceAccount; before an installation, yours to install it
  definitions        the kinds that truce reads, who has installed them, and fields that they do not keep
  clock              of this machine and of the controller, against the API server's
  git                the program on this machine
  other instances    of truce, that work for the same namespaces, or have one --runtime-namespace
  other controllers  Flux and Argo CD, and apps that both work on
  webhooks           mutating admission that matches objects of apps

The exit code is 0 without a problem, 1 with one; notices and warnings do not count.`

const exampleCheck = `  truce check
  truce check -o json
  # the permissions to install it, of another user
  truce check --as jane`

// checkJSON is the JSON form of a check.
type checkJSON struct {
	APIVersion string              `json:"apiVersion"`
	Kind       string              `json:"kind"`
	Findings   []preflight.Finding `json:"findings"`
}

func (p *program) check() *cobra.Command {
	f := &appFlags{program: p, config: kubectlFlags()}
	cmd := &cobra.Command{Use: "check", Short: "Check whether truce can work in a cluster", Long: longCheck, Example: exampleCheck, Args: cobra.NoArgs}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.check(cmd.Context()) }
	f.outputs(cmd, "json", "yaml")
	f.config.AddFlags(cmd.Flags())
	f.complete(cmd, "context", f.completeContexts)
	f.unheeded(cmd, "pre", "the same is checked before an installation and after it")
	return cmd
}

func (f *appFlags) check(ctx context.Context) error {
	c, err := f.dial()
	if err != nil {
		return err
	}
	facts, err := preflight.GatherFacts(ctx, c)
	if err != nil {
		return err
	}
	found := preflight.JudgeFacts(facts)
	if err := f.printCheck(found); err != nil {
		return err
	}
	if preflight.HasProblem(found) {
		return &exit.Error{Code: exit.Differs}
	}
	return nil
}

func (f *appFlags) printCheck(found []preflight.Finding) error {
	if f.output != "" {
		return f.structured(checkJSON{APIVersion: schemaVersion, Kind: "Check", Findings: found})
	}
	var t table
	for _, x := range found {
		message := x.Message
		if x.Subject != "" {
			message = x.Subject + ": " + message
		}
		row := plainCells(string(x.Severity), x.Check, message)
		row[0].paint = paints[x.Severity]
		t.add(row...)
		if x.Fix != "" && x.Severity != preflight.OK {
			t.add(plainCells("", "", "→ "+x.Fix)...)
		}
	}
	return f.printTable(&t)
}

var paints = map[preflight.Severity]paint{preflight.OK: green, preflight.Warning: yellow, preflight.Problem: red}
