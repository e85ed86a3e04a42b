package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/resource"
)

const longSync = `Ask the controller to look at the source and run the app now, and wait until it has.

For a Kustomization it sets Flux's annotation reconcile.fluxcd.io/requestedAt, on the source too unless
--with-source=false; for an Application it sets its operation, as argocd does, with the retries of
spec.syncPolicy.retry. Then it follows the status. --dry-run shows what would change, as truce app diff, and
requests nothing.

A sync overrides the loop breaker and every pause for one correction of each field. Of an app with
contested fields it waits up to 3 seconds more, and prints whether a field was changed back.

Of a suspended app nothing is requested. A failure holds up no other app: the exit code is the highest of
theirs. --timeout is for all of them together; each after the first has at least 5 seconds.

Exit codes: 0 applied, 1 not as Git wants, not in time or suspended, 4 the source could not be fetched or did not
render.`

const exampleSync = `  truce app sync web
  truce app sync --all -n flux-system --timeout 2m
  truce app sync web --resource apps:Deployment:web
  truce app sync web --resource '!apps:Deployment:web'
  truce app sync web --strategy apply
  truce app sync web --async`

type syncFlags struct {
	*appFlags
	source, wait, async, dryRun, force bool
	prune                              *bool
	timeout                            timeoutValue
	revision                           string
	resources, options                 []string
	strategy                           string
	set                                *pflag.FlagSet
}

func (f *appFlags) sync() *cobra.Command {
	s := &syncFlags{appFlags: f, timeout: f.program.defaultTimeout()}
	cmd := &cobra.Command{
		Use: "sync NAME...", Aliases: []string{"reconcile"}, Short: "Run apps now, and wait for the outcome", Long: longSync, Example: exampleSync,
		RunE: func(cmd *cobra.Command, args []string) error { return s.start(cmd.Context(), args) },
	}
	s.set = cmd.Flags()
	s.set.BoolVar(&s.source, "with-source", true, "look for a new revision first")
	s.set.BoolVar(&s.wait, "wait", true, "wait until the run is over")
	s.set.BoolVar(&s.async, "async", false, "the same as --wait=false")
	s.set.BoolVar(&s.dryRun, "dry-run", false, "show what would change, and do nothing")
	optionalFlag(s.set, &s.prune, "prune", "delete objects that Git no longer names (an Application without automatic pruning)")
	s.set.BoolVar(&s.force, "force", false, "refused: only Git asks for that (spec.force of a Kustomization)")
	s.set.StringVar(&s.revision, "revision", "", "a revision instead of the one that is followed (an Application)")
	s.set.StringArrayVar(&s.resources, "resource", nil, "only GROUP:KIND:NAME or GROUP:KIND:NAMESPACE/NAME, * for any; with ! before it all others (an Application; repeatable)")
	s.set.StringArrayVar(&s.options, "sync-option", nil, "a sync option for this run (an Application; repeatable)")
	s.set.StringVar(&s.strategy, "strategy", "", "hook, or apply for a run without hooks (an Application)")
	s.set.Var(&s.timeout, "timeout", "how long to wait; 0 for ever")
	f.selects(cmd)
	return cmd
}

func (s *syncFlags) start(ctx context.Context, args []string) error {
	if err := s.refuse(); err != nil {
		return err
	}
	if s.dryRun {
		return s.inspected(ctx, args, &diffOutput{appFlags: s.appFlags})
	}
	run, err := s.request()
	if err != nil {
		return err
	}
	return s.connected(ctx, func(c *Cluster) error { return s.run(ctx, c, args, run) })
}

// refuse returns an error for flags that would otherwise be ignored.
func (s *syncFlags) refuse() error {
	if s.force {
		return usageError("--force is not supported: only Git can ask to delete and create an object (spec.force of a Kustomization); " +
			"where an immutable field of an Application's object must change, delete the object, and truce creates it as Git has it")
	}
	for _, flag := range []string{"revision", "resource", "sync-option", "strategy"} {
		if s.dryRun && s.set.Changed(flag) {
			return usageError("--dry-run compares the whole app at the revision that it follows: leave out --%s", flag)
		}
	}
	return nil
}

// request is what the flags ask for.
func (s *syncFlags) request() (dialect.Run, error) {
	run := dialect.Run{Revision: s.revision, Options: s.options, By: s.program.displayName(), Prune: s.prune}
	switch s.strategy {
	case "", "hook":
	case "apply":
		run.Hooks = hook.SkipHooks
	default:
		return run, usageError("--strategy %q: want apply or hook", s.strategy)
	}
	for _, text := range s.resources {
		id, others, err := selectedObject(text)
		if err != nil {
			return run, err
		}
		if others {
			run.Except = append(run.Except, id)
		} else {
			run.Resources = append(run.Resources, id)
		}
	}
	return run, nil
}

// selectedObject reads an argument of --resource, and whether all others are meant.
func selectedObject(text string) (id object.ID, others bool, err error) {
	rest, others := strings.CutPrefix(text, "!")
	parts := strings.Split(rest, ":")
	if len(parts) != 3 || parts[1] == "" || parts[2] == "" {
		return id, others, usageError("--resource %q: want GROUP:KIND:NAME, such as apps:Deployment:web, or :Service:web", text)
	}
	id = object.ID{Group: parts[0], Kind: parts[1], Name: parts[2]}
	if ns, name, both := strings.Cut(parts[2], "/"); both {
		id.Namespace, id.Name = ns, name
	}
	return id, others, nil
}

func (s *syncFlags) run(ctx context.Context, c *Cluster, args []string, run dialect.Run) error {
	keys, err := s.targets(ctx, c, args)
	if err != nil {
		return err
	}
	return forEach(ctx, s.program, time.Duration(s.timeout), keys, func(ctx context.Context, k app.Key) error {
		s.noteStandstill(ctx, c, k)
		return s.one(ctx, c, k, run)
	})
}

// noteStandstill says that no new revision is looked for, since the app's source is suspended. What is wrong with a source that cannot be read is said
// by the run.
func (s *syncFlags) noteStandstill(ctx context.Context, c *Cluster, k app.Key) {
	kind, ok := resource.KindNamed(k.Kind)
	if !ok || !s.source {
		return
	}
	found, err := c.ListResources(ctx, resource.Query{Kinds: []resource.Kind{kind}, Namespace: k.Namespace, Name: k.Name})
	if err != nil || len(found.Items) != 1 {
		return
	}
	if source, err := sourceOf(ctx, c, found.Items[0]); err == nil && source != nil && source.Suspended {
		fmt.Fprintf(s.program.env.Err, "note: %s is suspended %s: no new revision is looked for\n", resourceName(source.Key), suspender(*source, time.Now()))
	}
}

func (s *syncFlags) one(ctx context.Context, c *Cluster, k app.Key, run dialect.Run) error {
	p := s.program.progress(k)
	p.say("asking the controller to run it")
	begin := time.Now()
	before, err := c.AppState(ctx, k)
	if err != nil {
		return err
	}
	if before.State.Suspended {
		return p.suspended()
	}
	token, err := c.RequestRun(ctx, view.Request{App: k, Source: s.source, Run: run})
	if errors.Is(err, context.DeadlineExceeded) {
		return &exit.Error{Code: exit.Differs, Err: err}
	}
	if err != nil {
		return err
	}
	if !s.wait || s.async {
		p.done("asked")
		return nil
	}
	last, err := awaitApp(ctx, c, k, func(a view.Summary) bool {
		p.say(a.Message)
		return resource.IsAnswered(token, a.Handled, before.HandledRequest) && (a.Settled || a.State.Suspended)
	})
	if err != nil {
		return controllerGoesOn(err, "the sync of "+resourceName(k))
	}
	if before.Contested != "" && last.State.Reason == report.Succeeded {
		if last, err = watchAfterSync(ctx, c, k, last, before.Contested); err != nil {
			return err
		}
		return p.retried(last, before.Contested, begin)
	}
	if err := s.printObjects(ctx, c, k); err != nil {
		return err
	}
	return p.outcomeOf(run, last, begin)
}

// outcomeOf is the outcome of a run of the whole app, or of a part of it.
func (p *progress) outcomeOf(run dialect.Run, last view.Summary, begin time.Time) error {
	if run.Revision != "" || len(run.Resources)+len(run.Except) > 0 {
		return p.part(last, begin)
	}
	return p.outcome(last, begin)
}

// printObjects prints argocd's table of what a sync made of each object, where the status has that.
func (s *syncFlags) printObjects(ctx context.Context, c *Cluster, k app.Key) error {
	state, err := c.AppState(ctx, k)
	if err != nil {
		return err
	}
	t := &table{}
	t.columns(plainCells("GROUP", "KIND", "NAMESPACE", "NAME", "STATUS", "HEALTH", "HOOK", "MESSAGE")...)
	for _, o := range state.Objects {
		if o.Sync == "" {
			return nil
		}
		row := append(plainCells(o.ID.Group, o.ID.Kind, o.ID.Namespace, o.ID.Name), cell{string(o.Sync), paintSync[o.Sync]}, cell{string(o.Health), paintHealth[o.Health]})
		t.add(append(row, plainCells("", oneLine(o.Message, 100))...)...)
	}
	if len(state.Objects) == 0 {
		return nil
	}
	addHooks(t, state.Hooks)
	s.program.clearLine()
	return s.printTable(t)
}

// part is the outcome of a run that leaves differences by its nature: another revision than the one that is followed, or some objects.
func (p *progress) part(a view.Summary, begin time.Time) error {
	if a.State.Reason != report.Succeeded {
		return p.outcome(a, begin)
	}
	p.done(fmt.Sprintf("%s, %s (%s): %s", a.State.Health.Code, textOrNone(explain.ShortRevision(a.Revision)), time.Since(begin).Round(time.Millisecond), a.Message))
	return nil
}

// outcome says how a run ended, and gives its exit code.
func (p *progress) outcome(a view.Summary, begin time.Time) error {
	text := fmt.Sprintf("%s, %s, %s (%s)", a.State.SyncText(), a.State.Health.Code, textOrNone(explain.ShortRevision(a.Revision)), time.Since(begin).Round(time.Millisecond))
	switch {
	case a.State.Suspended:
		return p.suspended()
	case a.State.Reason == report.SourceNotReady || a.State.Reason == report.RenderFailed || a.State.Reason == report.ValuesFailed:
		p.fail(a.Message)
		return &exit.Error{Code: exit.Render}
	case a.State.Reason != report.Succeeded:
		p.fail(a.Message)
		return &exit.Error{Code: exit.Differs}
	case a.State.Sync != report.Synced:
		p.fail(text + ": " + a.Message)
		return &exit.Error{Code: exit.Differs}
	}
	p.done(text + notApplied(a))
	return nil
}

// suspended is the outcome of a request to an app that does nothing before it is resumed.
func (p *progress) suspended() error {
	p.fail("it is suspended: nothing was done")
	return &exit.Error{Code: exit.Differs}
}

// notApplied says which counts of Git's a sync did not apply, and where one is stuck what to do.
func notApplied(a view.Summary) string {
	if a.Ceded == "" {
		return ""
	}
	text := ", but not all of Git is applied: " + a.Ceded
	if strings.Contains(a.Ceded, "does not scale") {
		text += "; truce app get " + a.Key.Name + " -n " + a.Key.Namespace + " says what to do"
	}
	return text
}

// awaitApp follows one app until it is as asked. An app that vanishes, and the end of ctx, are errors.
func awaitApp(ctx context.Context, c *Cluster, k app.Key, is func(view.Summary) bool) (view.Summary, error) {
	var last view.Summary
	gone := errors.New("it was deleted")
	var failed error
	err := c.Follow(ctx, k, func(all []view.Summary) bool {
		failed = gone
		for _, a := range all {
			if a.Key == k {
				last, failed = a, nil
				return is(a)
			}
		}
		return true
	})
	if errors.Is(err, context.DeadlineExceeded) {
		if last.Key != k { // it was not known before the end: the error says why
			return last, &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s: not in time: %w", k, err)}
		}
		return last, &exit.Error{Code: exit.Differs, Err: fmt.Errorf("%s: not in time: %s", k, stateLine(last.State))}
	}
	if err == nil && failed != nil {
		err = &exit.Error{Code: exit.Cluster, Err: fmt.Errorf("%s: %w", k, failed)}
	}
	return last, err
}
