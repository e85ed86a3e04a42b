package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/health"
	"github.com/truce-gitops/truce/internal/report"
)

const longWait = `Wait until apps are as asked, by watching: no polling.

  synced     the newest form of the app was run, and the cluster is as Git wants
  healthy    and all its objects work
  operation  the newest form of the app was run, whatever came of it
  suspended  it stands still, or its health is Suspended
  degraded   its health is Degraded
  delete     its custom resource is gone

argocd's --sync, --health, --operation, --suspended, --degraded and --delete are taken, too.

Exit codes: 0 it is so, 1 it did not become so in time.`

const exampleWait = `  truce app wait web
  truce app wait --all -n flux-system --for=synced --timeout 1m`

type waitFlags struct {
	*appFlags
	what    string
	timeout timeoutValue
	// argocd's words for --for; sync and health together are healthy.
	sync, health, operation, suspended, degraded, gone bool
}

// conditions are what --for takes.
var conditions = map[string]func(Summary) bool{
	"synced":  func(s Summary) bool { return s.Settled && s.Sync == report.Synced },
	"healthy": func(s Summary) bool { return s.Settled && s.Sync == report.Synced && s.Health.Code == health.Healthy },
	// An app that argocd waits for by --health alone may differ from Git.
	"well":      func(s Summary) bool { return s.Settled && s.Health.Code == health.Healthy },
	"operation": func(s Summary) bool { return s.Settled },
	"suspended": func(s Summary) bool { return s.Suspended || s.Health.Code == health.Suspended },
	"degraded":  func(s Summary) bool { return s.Health.Code == health.Degraded },
	"delete":    nil, // by its absence
}

func (f *appFlags) wait() *cobra.Command {
	w := &waitFlags{appFlags: f, timeout: timeoutValue(5 * time.Minute)}
	forms := []string{"healthy", "synced", "operation", "suspended", "degraded", "delete"}
	cmd := &cobra.Command{
		Use: "wait NAME...", Short: "Wait until apps are synced or healthy", Long: longWait, Example: exampleWait,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf("--for", w.what, forms); err != nil || cmd.Flags().Changed("for") {
				return err
			}
			w.what = w.asked()
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
	f.complete(cmd, "for", words(forms...))
	return cmd
}

// asked translates argocd's flags. None of them is all of them, there as here.
func (w *waitFlags) asked() string {
	switch {
	case w.gone:
		return "delete"
	case w.suspended:
		return "suspended"
	case w.degraded:
		return "degraded"
	case w.health && !w.sync:
		return "well"
	case w.sync && !w.health:
		return "synced"
	case w.operation && !w.health:
		return "operation"
	}
	return "healthy"
}

func (w *waitFlags) run(ctx context.Context, c *Cluster, args []string) error {
	keys, err := w.targets(ctx, c, args)
	if err != nil {
		return err
	}
	ctx, cancel := bounded(ctx, time.Duration(w.timeout))
	defer cancel()
	for _, k := range keys {
		if err := w.one(ctx, c, k); err != nil {
			return err
		}
	}
	return nil
}

func (w *waitFlags) one(ctx context.Context, c *Cluster, k app.Key) error {
	if w.what == "delete" {
		return awaitGone(ctx, c, k)
	}
	p := w.program.progress(k)
	_, err := awaitApp(ctx, c, k, func(a Summary) bool {
		if conditions[w.what](a) {
			return true
		}
		p.say(state(a))
		return false
	})
	if err != nil {
		return err
	}
	p.done(w.what)
	return nil
}

// state says in a line what an app still lacks.
func state(a Summary) string {
	text := fmt.Sprintf("%s, %s", a.Sync, a.Health.Code)
	if a.Health.Message != "" {
		return text + ": " + a.Health.Message
	}
	return text + inBrackets(a.Message)
}
