package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/health"
	"github.com/truce-gitops/truce/internal/report"
)

const longWait = `Wait until apps are as asked, by watching: no polling.

  synced   the newest form of the app was run, and the cluster is as Git wants
  healthy  and all its objects work

Exit codes: 0 it is so, 1 it did not become so in time.`

const exampleWait = `  truce app wait web
  truce app wait --all -n flux-system --for=synced --timeout 1m`

type waitFlags struct {
	*appFlags
	what    string
	timeout time.Duration
}

// conditions are what --for takes.
var conditions = map[string]func(Summary) bool{
	"synced":  func(s Summary) bool { return s.Settled && s.Sync == report.Synced },
	"healthy": func(s Summary) bool { return s.Settled && s.Sync == report.Synced && s.Health.Code == health.Healthy },
}

func (f *appFlags) wait() *cobra.Command {
	w := &waitFlags{appFlags: f}
	forms := []string{"healthy", "synced"}
	cmd := &cobra.Command{
		Use: "wait NAME...", Short: "Wait until apps are synced or healthy", Long: longWait, Example: exampleWait,
		PreRunE: func(*cobra.Command, []string) error { return oneOf("--for", w.what, forms) },
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return w.run(cmd.Context(), c, args) })
		},
	}
	cmd.Flags().StringVar(&w.what, "for", "healthy", "what to wait for: healthy, synced")
	cmd.Flags().DurationVar(&w.timeout, "timeout", 5*time.Minute, "how long to wait")
	f.selects(cmd)
	f.complete(cmd, "for", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return forms, cobra.ShellCompDirectiveNoFileComp
	})
	return cmd
}

func (w *waitFlags) run(ctx context.Context, c *Cluster, args []string) error {
	keys, err := w.targets(ctx, c, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	for _, k := range keys {
		if err := w.one(ctx, c, k); err != nil {
			return err
		}
	}
	return nil
}

func (w *waitFlags) one(ctx context.Context, c *Cluster, k app.Key) error {
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
