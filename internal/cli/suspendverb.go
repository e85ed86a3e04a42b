package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longSuspendKind = `Suspend the reconciliation of sources or apps: their controller writes nothing for them until truce resume. Of a suspended
Provider or Alert no messages are sent, of a suspended Receiver no webhook is taken. For a
Kustomization or an Application it is truce app suspend. A failure holds up no other. What was suspended by hand stays so, also where another app keeps the
custom resource from Git without naming the field. truce get shows who suspended it, and since when.`

const exampleSuspendKind = `  truce suspend kustomization web
  truce suspend source git repo -n flux-system
  truce suspend ks --all -n flux-system`

const longResumeKind = `Resume the reconciliation of sources or apps, and wait until they have been reconciled. For a Kustomization or an Application
it is truce app resume and truce app sync, without a look at the source; where an Application was asked for an operation meanwhile,
that is its sync. All are resumed before the first is waited for, and a failure holds up no other.

Exit codes: those of truce reconcile.`

const exampleResumeKind = `  truce resume kustomization web
  truce resume source git repo -n flux-system --wait=false`

type suspendFlags struct {
	reconcileFlags
	all  bool
	wait bool
	// resume says that suspension is ended.
	resume bool
}

func (p *program) suspendKind() *cobra.Command {
	return p.standstill(&cobra.Command{Use: "suspend", Short: "Suspend reconciliation", Long: longSuspendKind, Example: exampleSuspendKind}, &suspendFlags{})
}

func (p *program) resumeKind() *cobra.Command {
	s := &suspendFlags{resume: true}
	cmd := p.standstill(&cobra.Command{Use: "resume", Short: "Resume reconciliation, and wait for the outcome", Long: longResumeKind, Example: exampleResumeKind}, s)
	cmd.PersistentFlags().BoolVar(&s.wait, "wait", true, "wait until they have been reconciled")
	cmd.PersistentFlags().Var(&s.timeout, "timeout", "how long to wait; 0 for ever")
	return cmd
}

func (p *program) standstill(cmd *cobra.Command, s *suspendFlags) *cobra.Command {
	s.reconcileFlags = reconcileFlags{verb: p.newVerb(cmd), timeout: timeoutValue(5 * time.Minute)}
	cmd.PersistentFlags().BoolVar(&s.all, "all", false, "all of the namespace")
	s.addKinds(s, isSteered)
	return cmd
}

func (s *suspendFlags) forKind(k resource.Kind) *cobra.Command {
	cmd := &cobra.Command{Use: k.Words()[len(k.Words())-1] + " NAME...", Short: firstWord(s.cmd.Short) + " " + k.Plural}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if (len(args) == 0) != s.all {
			return usageError("name one or more %s, or all of the namespace with --all", k.Plural)
		}
		return s.connected(cmd.Context(), func(c *Cluster) error { return s.run(cmd.Context(), c, k, args) })
	}
	return cmd
}

func (s *suspendFlags) run(ctx context.Context, c *Cluster, k resource.Kind, names []string) error {
	found, err := s.namedResources(ctx, c, k, names)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		ns, err := s.namespace()
		if err != nil {
			return err
		}
		return &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("no %s in %s", k.Plural, placeOfNamespace(ns))}
	}
	change := s.suspendOne
	if s.resume {
		change = s.resumeOne
	}
	var changed []resource.Resource
	err = forEach(ctx, s.program, time.Duration(s.timeout), found, func(ctx context.Context, x resource.Resource) error {
		err := change(ctx, c, x)
		if err == nil {
			changed = append(changed, x)
		}
		return err
	})
	if !s.resume || !s.wait || k.Unrequested || ctx.Err() != nil {
		return err
	}
	// after all are resumed: they may depend on each other
	return alsoFailed(s.program, err, forEach(ctx, s.program, time.Duration(s.timeout), changed, func(ctx context.Context, x resource.Resource) error {
		return s.await(ctx, c, x)
	}))
}

// await asks for a run of what was resumed, and waits for its end.
func (s *suspendFlags) await(ctx context.Context, c *Cluster, x resource.Resource) error {
	if x.Object["operation"] != nil {
		return s.begun(ctx, c, x.Key)
	}
	if x.Kind.App {
		return s.apps(ctx, c, x.Kind, []string{x.Key.Name})
	}
	x.Suspended = false
	return s.one(ctx, c, x)
}

// begun waits for the operation that was asked of an Application while it was suspended: there is one at a time, and none is asked for beside it.
func (s *suspendFlags) begun(ctx context.Context, c *Cluster, k app.Key) error {
	p, begin := s.program.progress(k), time.Now()
	last, err := awaitApp(ctx, c, k, func(a view.Summary) bool {
		p.say(a.Message)
		return a.Settled
	})
	if err != nil {
		return controllerGoesOn(err, "the sync of "+resourceName(k))
	}
	return p.outcome(last, begin)
}

func (s *suspendFlags) suspendOne(ctx context.Context, c *Cluster, x resource.Resource) error {
	switch {
	case x.Suspended:
		_, err := fmt.Fprintf(s.program.env.Out, "%s is suspended already, %s\n", resourceName(x.Key), orUnknown(suspender(x, time.Now())))
		return err
	case x.Kind.App:
		return s.edit(ctx, c, view.Edit{App: x.Key, How: view.Alter, Change: suspended(), Force: true}, "suspended")
	}
	if err := c.SuspendResource(ctx, x); err != nil {
		return err
	}
	return s.say(x, "suspended")
}

func (s *suspendFlags) resumeOne(ctx context.Context, c *Cluster, x resource.Resource) error {
	if x.Kind.App {
		return s.edit(ctx, c, view.Edit{App: x.Key, How: view.Alter, Change: resumed(), Force: true}, "resumed")
	}
	if err := c.ResumeResource(ctx, x); err != nil {
		return err
	}
	return s.say(x, "resumed")
}

func (s *suspendFlags) say(x resource.Resource, done string) error {
	_, err := fmt.Fprintf(s.program.env.Out, "%s %s\n", resourceName(x.Key), done)
	return err
}

func orUnknown(text string) string {
	if text == "" {
		return "by whom is not recorded"
	}
	return text
}
