package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

const longWait = `Wait until apps are as asked, by watching: no polling.

  synced     the newest form of the app was run, and the cluster is as Git wants
  healthy    and all its objects work
  operation  the newest form of the app was run, whatever came of it
  suspended  it stands still, or its health is Suspended
  degraded   its health is Degraded
  delete     its custom resource is gone, or was never there; exit code 3 where that may not be known,
             and where an app of that name is in another namespace

argocd's --sync, --health, --operation, --suspended, --degraded and --delete are taken, too.

Of several apps each is waited for, also where another is not in time: the exit code is the highest of theirs. --timeout
is for all of them together; each after the first has at least 5 seconds.

Exit codes: 0 it is so, 1 it did not become so in time.`

const exampleWait = `  truce app wait web
  truce app wait --all -n flux-system --for=synced --timeout 1m`

type waitFlags struct {
	*appFlags
	what    string
	until   condition
	timeout timeoutValue
	// argocd's flags, which may be combined.
	sync, health, operation, suspended, degraded, gone bool
}

// condition is what a command waits for.
type condition struct {
	name string
	is   func(view.Summary) bool // nil for the absence of the app
}

// conditions are what --for takes.
var conditions = map[string]func(view.Summary) bool{
	"synced": func(s view.Summary) bool { return s.Settled && s.State.Sync == report.Synced },
	"healthy": func(s view.Summary) bool {
		return s.Settled && s.State.Sync == report.Synced && s.State.Health.Code == health.Healthy
	},
	"operation": func(s view.Summary) bool { return s.Settled },
	"suspended": func(s view.Summary) bool { return s.State.Suspended || s.State.Health.Code == health.Suspended },
	"degraded":  func(s view.Summary) bool { return s.State.Health.Code == health.Degraded },
	"delete":    nil,
}

func (f *appFlags) wait() *cobra.Command {
	w := &waitFlags{appFlags: f, timeout: f.program.defaultTimeout()}
	forms := []string{"healthy", "synced", "operation", "suspended", "degraded", "delete"}
	cmd := &cobra.Command{
		Use: "wait NAME...", Short: "Wait until apps are synced or healthy", Long: longWait, Example: exampleWait,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOneOf("--for", w.what, forms); err != nil {
				return err
			}
			w.until = w.asked()
			if cmd.Flags().Changed("for") {
				w.until = condition{w.what, conditions[w.what]}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return w.run(cmd.Context(), c, args) })
		},
	}
	cmd.Flags().StringVar(&w.what, "for", "healthy", "what to wait for: "+strings.Join(forms, ", "))
	cmd.Flags().Var(&w.timeout, "timeout", "how long to wait; 0 for ever")
	for flag, value := range map[string]*bool{
		"sync": &w.sync, "health": &w.health, "operation": &w.operation, "suspended": &w.suspended, "degraded": &w.degraded, "delete": &w.gone,
	} {
		cmd.Flags().BoolVar(value, flag, false, "argocd's word for a --for")
	}
	f.selects(cmd)
	f.complete(cmd, "for", completeFrom(forms...))
	return cmd
}

// asked combines argocd's flags as argocd does (checkResourceStatus in cmd/argocd/commands/app.go): of --health, --suspended and
// --degraded one must hold, and all of --sync and --operation. An app that is waited for by --health alone may differ from Git.
func (w *waitFlags) asked() condition {
	if w.gone {
		return condition{name: "delete"}
	}
	either := w.named(map[string]bool{"healthy": w.health, "suspended": w.suspended, "degraded": w.degraded})
	all := w.named(map[string]bool{"synced": w.sync, "operation": w.operation})
	if len(either)+len(all) == 0 {
		return condition{"healthy", conditions["healthy"]}
	}
	name := strings.Join(either, " or ")
	if name != "" && len(all) > 0 {
		name += ", "
	}
	return condition{name + strings.Join(all, ", "), func(s view.Summary) bool {
		return (len(either) == 0 || slices.ContainsFunc(either, func(c string) bool { return hasHealth(s, c) })) &&
			!slices.ContainsFunc(all, func(c string) bool { return !conditions[c](s) })
	}}
}

// named are those that are set, in order.
func (w *waitFlags) named(flags map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(flags)), func(name string) bool { return !flags[name] })
}

// hasHealth reports whether an app has a health; unlike the condition of that name, "healthy" says nothing of Git.
func hasHealth(s view.Summary, c string) bool {
	if c == "healthy" {
		return s.Settled && s.State.Health.Code == health.Healthy
	}
	return conditions[c](s)
}

func (w *waitFlags) run(ctx context.Context, c *Cluster, args []string) error {
	keys, err := w.awaited(ctx, c, args)
	if err != nil {
		return err
	}
	return forEach(ctx, w.program, time.Duration(w.timeout), keys, func(ctx context.Context, k app.Key) error { return w.one(ctx, c, k) })
}

// awaited are the apps that are waited for. What is waited for to be gone is done if it is not there. A namespace that was forgotten, and apps that may
// not be listed, prove nothing.
func (w *waitFlags) awaited(ctx context.Context, c *Cluster, args []string) ([]app.Key, error) {
	if w.until.is != nil {
		return w.targets(ctx, c, args)
	}
	each := [][]string{nil}
	if len(args) > 0 {
		each = slices.Collect(slices.Chunk(args, 1))
	}
	var out []app.Key
	for _, one := range each {
		keys, err := w.targets(ctx, c, one)
		if err != nil && !errors.As(err, new(absentError)) {
			return nil, err
		}
		out = append(out, keys...)
	}
	return out, nil
}

func (w *waitFlags) one(ctx context.Context, c *Cluster, k app.Key) error {
	if w.until.is == nil {
		return awaitGone(ctx, c, k)
	}
	p := w.program.progress(k)
	_, err := awaitApp(ctx, c, k, func(a view.Summary) bool {
		if w.until.is(a) {
			return true
		}
		p.say(stateLine(a.State))
		return false
	})
	if err != nil {
		return err
	}
	p.done(w.until.name)
	return nil
}

// stateLine returns the state of an app in a line, with what keeps it from being Synced and Healthy.
func stateLine(s report.State) string {
	text := s.SyncText() + ", " + string(s.Health.Code)
	if why := s.Why(); why != "" {
		return text + ": " + why
	}
	return text
}
