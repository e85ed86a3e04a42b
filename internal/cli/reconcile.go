package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longReconcile = `Ask the controller to reconcile a source or an app now, wait until the run of this request has ended, and say what came of
it. For a Kustomization or an Application it is truce app sync, without a look at the source: --with-source asks for that first.
A HelmRelease is released once more with --force, also where nothing has changed; with --reset its failures count no longer.
A failure holds up no other: the exit code is the highest of theirs. --timeout is for all of them together; each after the first
has at least 5 seconds.

Exit codes: 0 reconciled, 1 an app is not as Git wants, or nothing in time, or suspended, 2 usage, 3 cluster,
4 the source could not be fetched or did not render.`

const exampleReconcile = `  truce reconcile kustomization web --with-source
  truce reconcile helmrelease web --reset
  truce reconcile source git repo -n flux-system --timeout 1m
  truce reconcile gitrepository/repo`

type reconcileFlags struct {
	*verb
	source  bool
	timeout timeoutValue
	// force and reset are what is asked of a HelmRelease.
	force, reset bool
}

func (p *program) reconcile() *cobra.Command {
	v := p.newVerb(&cobra.Command{Use: "reconcile", Short: "Reconcile a source or an app now, and wait for the outcome", Long: longReconcile, Example: exampleReconcile})
	r := &reconcileFlags{verb: v, timeout: timeoutValue(5 * time.Minute)}
	v.cmd.PersistentFlags().Var(&r.timeout, "timeout", "how long to wait; 0 for ever")
	v.addKinds(r, isRequested)
	return v.cmd
}

func (r *reconcileFlags) forKind(k resource.Kind) *cobra.Command {
	cmd := &cobra.Command{Use: k.Words()[len(k.Words())-1] + " NAME...", Short: "Reconcile " + k.Plural + " now", Args: cobra.MinimumNArgs(1)}
	if k.Source == "" || k.Source == "chart" {
		cmd.Flags().BoolVar(&r.source, "with-source", false, "look for a new revision of the source first")
	}
	if k.Kind == "HelmRelease" {
		cmd.Flags().BoolVar(&r.force, "force", false, "make another release of the chart, also where nothing has changed")
		cmd.Flags().BoolVar(&r.reset, "reset", false, "forget the failures, so that the action is tried again")
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return r.connected(cmd.Context(), func(c *Cluster) error { return r.run(cmd.Context(), c, k, args) })
	}
	return cmd
}

func (r *reconcileFlags) run(ctx context.Context, c *Cluster, k resource.Kind, names []string) error {
	if k.App {
		return r.apps(ctx, c, k, names)
	}
	found, err := r.namedResources(ctx, c, k, names)
	if err != nil {
		return err
	}
	return forEach(ctx, r.program, time.Duration(r.timeout), found, func(ctx context.Context, x resource.Resource) error { return r.withSource(ctx, c, x) })
}

// withSource reconciles a custom resource, and its source before it where that is asked for.
func (r *reconcileFlags) withSource(ctx context.Context, c *Cluster, x resource.Resource) error {
	if !r.source {
		return r.one(ctx, c, x)
	}
	source, err := sourceOf(ctx, c, x)
	if err == nil && source != nil {
		err = r.one(ctx, c, *source)
	}
	if err != nil {
		return err
	}
	return r.one(ctx, c, x)
}

// apps reconciles apps as truce app sync does.
func (r *reconcileFlags) apps(ctx context.Context, c *Cluster, k resource.Kind, names []string) error {
	sync := &syncFlags{appFlags: r.appFlags, source: r.source, wait: true, timeout: r.timeout}
	return sync.run(ctx, c, qualifiedNames(k, names), dialect.Run{By: r.program.displayName(), Force: r.force, Reset: r.reset})
}

// qualifiedNames are names with their kind, as the commands about apps take them.
func qualifiedNames(k resource.Kind, names []string) []string {
	return prefixed(k.Singular+"/", names)
}

// sourceOf is the source that a custom resource names; nil where it is none that can be requested.
func sourceOf(ctx context.Context, c *Cluster, x resource.Resource) (*resource.Resource, error) {
	k, ok := resource.KindNamed(x.Source.Kind)
	if !ok || k.Passive {
		return nil, nil
	}
	all, err := c.ListResources(ctx, resource.Query{Kinds: []resource.Kind{k}, Namespace: x.Source.Namespace, Name: x.Source.Name})
	switch {
	case err != nil:
		return nil, err
	case len(all.Refused) > 0:
		return nil, all.Refused[0]
	case len(all.Items) == 0:
		return nil, errNoResource(k, x.Source.Name, x.Source.Namespace, nil)
	}
	return &all.Items[0], nil
}

// one asks for a run of one custom resource, and follows its status until the run has ended.
func (r *reconcileFlags) one(ctx context.Context, c *Cluster, x resource.Resource) error {
	p := r.program.progress(x.Key)
	if x.Suspended {
		p.fail("it is suspended " + suspender(x, time.Now()) + ": nothing was done")
		return &exit.Error{Code: exit.Differs}
	}
	begin := time.Now()
	p.say("asking the controller to reconcile it")
	token, err := c.RequestReconcile(ctx, x)
	if err != nil {
		return err
	}
	last, err := awaitResource(ctx, c, x, func(now resource.Resource) bool {
		p.say(now.Message)
		return now.Settled && resource.IsAnswered(token, now.Handled, x.Handled) || now.Suspended
	})
	if err != nil {
		return controllerGoesOn(err, "the reconciliation of "+resourceName(x.Key))
	}
	took := time.Since(begin).Round(time.Millisecond)
	switch {
	case last.Suspended:
		p.fail("it was suspended " + suspender(last, time.Now()))
		return &exit.Error{Code: exit.Differs}
	case last.Ready == "True":
		p.done(fmt.Sprintf("%s (%s)", last.Message, took))
		return nil
	}
	p.fail(fmt.Sprintf("%s (%s)", last.Message, took))
	if x.Kind.Source != "" {
		return &exit.Error{Code: exit.Render}
	}
	return &exit.Error{Code: exit.Differs}
}

// awaitResource follows one custom resource until it is as asked. One that vanishes, and the end of ctx, are errors.
func awaitResource(ctx context.Context, c *Cluster, x resource.Resource, is func(resource.Resource) bool) (resource.Resource, error) {
	last, gone := x, false
	q := resource.Query{Kinds: []resource.Kind{x.Kind}, Namespace: x.Key.Namespace, Name: x.Key.Name}
	err := c.FollowResources(ctx, q, func(all resource.List) bool {
		if gone = len(all.Items) == 0; gone {
			return true
		}
		last = all.Items[0]
		return is(last)
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return last, &exit.Error{Code: exit.Differs, Err: notInTime(x.Key, last)}
	case err == nil && gone:
		return last, &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s: it was deleted", x.Key)}
	}
	return last, err
}

func notInTime(key app.Key, last resource.Resource) error {
	if last.Message == "" {
		return fmt.Errorf("%s: not in time: its status says nothing (does its controller run?)", key)
	}
	return fmt.Errorf("%s: not in time: %s (does its controller run?)", key, last.Message)
}
