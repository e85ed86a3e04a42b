// Package cli answers: what does a person or a script get to see, and with which exit code?
//
// In: arguments, streams and the environment of one invocation (Environment); what commands can do (Backend).
// Out: tables, sentences and JSON on the standard output, progress and errors on the other one, and an exit code.
// Promise: data and progress are never mixed; colours and moving lines only on a terminal; the JSON forms are stable.
// Not here: doing anything (view answers, compose puts the Backend together), the status page (web).
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Environment is the world of one invocation.
type Environment struct {
	In       io.Reader
	Out, Err io.Writer
	Program  string   // the name that truce was called by
	Args     []string // without it
	Getenv   func(string) string
	Version  string
}

func usageError(format string, args ...any) error {
	return &exit.Error{Code: exit.Usage, Err: fmt.Errorf(format, args...)}
}

// program is one invocation.
type program struct {
	env     Environment
	backend Backend
	term    terminal
	began   bool // arguments and flags were understood
	open    bool // the last line on the standard error has no end yet
}

// Execute runs the command that env.Args name, until it is done or ctx ends, and returns the exit code.
func Execute(ctx context.Context, env Environment, b Backend) int {
	p := &program{env: env, backend: b, term: newTerminal(env)}
	root := p.root()
	root.SetArgs(env.Args)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	return int(p.exit(afterSignal(ctx, root.ExecuteContext(ctx))))
}

// exit prints an error and returns its code. What goes wrong before a command begins is a matter of usage.
func (p *program) exit(err error) exit.Code {
	p.endLine()
	if err == nil {
		return exit.Same
	}
	code := exitCode(err)
	if !p.began && !errors.As(err, new(*exit.Error)) {
		code = exit.Usage
	}
	p.printError(err)
	if errors.As(err, new(chosenCodeError)) {
		return code
	}
	return p.code(code)
}

// printError prints an error on a line of its own; nothing where the output has said it.
func (p *program) printError(err error) {
	p.endLine()
	if text := withAdvice(err); text != "" {
		fmt.Fprintf(p.env.Err, "%s %s\n", p.term.errors().red("truce:"), redact.MaskText(text))
	}
}

// withAdvice is the text of an error, and what to do about it. Without a cluster, which of its answers was missed does not matter.
func withAdvice(err error) string {
	var advised interface {
		error
		Advice() string
	}
	switch {
	case errors.As(err, &advised):
		return advised.Error() + "\n" + advised.Advice()
	case apierrors.IsUnauthorized(err):
		return err.Error() + "\nthe credentials of the kubeconfig are not valid, or have expired: log in to the cluster again, as for kubectl"
	}
	return err.Error()
}

const longRoot = `truce keeps a Kubernetes cluster equal to Git, field by field, and never fights the
controllers that rightly write to it: a field that an autoscaler owns is ceded, and truce says so.

It reads Flux's custom resources (GitRepository, OCIRepository, Bucket, HelmRepository, HelmChart,
HelmRelease, Kustomization) and Argo CD's Applications as they
are. Called as argocd (a symbolic link to it) it takes that program's app commands word for word.

Exit codes:
  0  done, nothing differs
  1  something is not as Git wants it, or did not become so in time
  2  the command line makes no sense
  3  the cluster cannot be reached, refuses, or does not know the app
  4  the source cannot be fetched or does not render
130  Ctrl-C or SIGTERM has ended the command`

const exampleRoot = `  # a cluster, truce and a demo repository on this machine, from nothing
  truce up

  # what is kept in sync, and how it stands
  truce app list -A

  # which fields are not as Git names them, who set them, and where Git names them
  truce app get web -n flux-system

  # why a field is what it is: which line and commit want it, who wrote it, what would end it
  truce why deploy/web .spec.replicas -n shop`

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "truce",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: p.displayName()},
		Short:         "Keep a cluster equal to Git, and at peace",
		Long:          longRoot,
		Example:       exampleRoot,
		Version:       p.env.Version,
		SilenceErrors: true,
		// kubectl's form: the usage is that of the commands
		DisableFlagsInUseLine: true,
		SilenceUsage:          true,
		PersistentPreRunE:     func(*cobra.Command, []string) error { p.began = true; return nil },
	}
	root.SetVersionTemplate("truce {{.Version}}\n")
	suggestOnTypingErrors(root)
	apps, f := p.app()
	root.AddCommand(apps)
	if p.argocd() {
		f.argocdFlags(root)
		root.AddCommand(p.login()...)
		root.AddCommand(p.version())
		return root
	}
	root.AddCommand(p.resources(), p.reconcile(), p.suspendKind(), p.resumeKind(), p.tree(), p.trace(), p.events(), p.export())
	root.AddCommand(p.render(), p.build(), p.diff(), p.audit(), p.fix(), p.health(), p.claims(), p.timeline(), p.why(), p.blame(), p.adopt(), p.release(), p.schemas(), p.notify(), p.dashboard(), p.controller(), p.up(), p.check(), p.uninstall(), p.version())
	return root
}

// displayName follows kubectl's convention for plugins: `kubectl truce` runs kubectl-truce.
func (p *program) displayName() string {
	switch {
	case strings.HasPrefix(p.env.Program, "kubectl-"):
		return "kubectl truce"
	case p.argocd():
		return "argocd"
	}
	return "truce"
}
