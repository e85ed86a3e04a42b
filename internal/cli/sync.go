package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/report"
)

const longSync = `Ask the controller to look at the source and run the app now, and wait until it has.

It sets Flux's annotation reconcile.fluxcd.io/requestedAt, on the source too unless
--with-source=false, and follows the status. Exit codes: 0 applied, 1 not as Git wants or not in
time, 4 the source could not be fetched or did not render.`

const exampleSync = `  truce app sync web
  truce app sync --all -n flux-system --timeout 2m
  truce app sync web --wait=false`

type syncFlags struct {
	*appFlags
	source, wait bool
	timeout      time.Duration
}

func (f *appFlags) sync() *cobra.Command {
	s := &syncFlags{appFlags: f}
	cmd := &cobra.Command{
		Use: "sync NAME...", Aliases: []string{"reconcile"}, Short: "Run apps now, and wait for the outcome", Long: longSync, Example: exampleSync,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.connected(cmd.Context(), func(c *Cluster) error { return s.run(cmd.Context(), c, args) })
		},
	}
	cmd.Flags().BoolVar(&s.source, "with-source", true, "look for a new revision first")
	cmd.Flags().BoolVar(&s.wait, "wait", true, "wait until the run is over")
	cmd.Flags().DurationVar(&s.timeout, "timeout", 5*time.Minute, "how long to wait")
	f.selects(cmd)
	return cmd
}

func (s *syncFlags) run(ctx context.Context, c *Cluster, args []string) error {
	keys, err := s.targets(ctx, c, args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	for _, k := range keys {
		if err := s.one(ctx, c, k); err != nil {
			return err
		}
	}
	return nil
}

func (s *syncFlags) one(ctx context.Context, c *Cluster, k app.Key) error {
	request := Request{App: k, Source: WithoutSource}
	if s.source {
		request.Source = WithSource
	}
	p := s.program.progress(k)
	p.say("asking the controller to run it")
	begin := time.Now()
	token, err := c.Ask(ctx, request)
	if errors.Is(err, context.DeadlineExceeded) {
		return &ExitError{Code: ExitDiffers, Err: err}
	}
	if err != nil {
		return err
	}
	if !s.wait {
		p.done("asked")
		return nil
	}
	last, err := awaitApp(ctx, c, k, func(a Summary) bool {
		p.say(a.Message)
		return a.Handled == token && (a.Settled || a.Suspended)
	})
	if err != nil {
		return err
	}
	return p.outcome(last, begin)
}

// outcome says how a run ended, and gives its exit code.
func (p *progress) outcome(a Summary, begin time.Time) error {
	text := fmt.Sprintf("%s, %s, %s (%s)", a.Sync, a.Health.Code, orNone(shortRevision(a.Revision)), time.Since(begin).Round(time.Millisecond))
	switch {
	case a.Suspended:
		p.fail("it is suspended: nothing was done")
		return &ExitError{Code: ExitDiffers}
	case a.Reason == report.SourceNotReady || a.Reason == report.RenderFailed:
		p.fail(a.Message)
		return &ExitError{Code: ExitRender}
	case a.Reason != report.Succeeded:
		p.fail(a.Message)
		return &ExitError{Code: ExitDiffers}
	case a.Sync != report.Synced:
		p.fail(text + ": " + a.Message)
		return &ExitError{Code: ExitDiffers}
	}
	p.done(text)
	return nil
}

// awaitApp follows one app until it is as asked. An app that vanishes, and the end of ctx, are errors.
func awaitApp(ctx context.Context, c *Cluster, k app.Key, is func(Summary) bool) (Summary, error) {
	var last Summary
	gone := errors.New("it was deleted")
	var failed error
	err := c.Follow(ctx, k.Namespace, func(all []Summary) bool {
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
		return last, &ExitError{Code: ExitDiffers, Err: fmt.Errorf("%s: not in time: %s, %s: %s", k, last.Sync, last.Health.Code, last.Message)}
	}
	if err == nil && failed != nil {
		err = &ExitError{Code: ExitCluster, Err: fmt.Errorf("%s: %w", k, failed)}
	}
	return last, err
}
