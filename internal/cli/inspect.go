package cli

import (
	"context"
	"fmt"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// detailOutput prints what was found of apps.
type detailOutput interface {
	// add prints an app when it has been looked at, or stores it for end. The error is that of this app.
	add(view.Detail) error
	// end prints what is about all of them; failed says that there is an error of one.
	end(failed bool) error
}

// inspected prints the details of the apps that are meant. An app that could not be run to the end decides the exit code, and holds up no other.
func (f *appFlags) inspected(ctx context.Context, args []string, out detailOutput) error {
	return f.looked(ctx, args, func(ctx context.Context, c *Cluster, k app.Key) ([]view.Detail, error) {
		d, err := c.Inspect(ctx, k)
		if err != nil {
			return nil, err
		}
		return []view.Detail{d}, nil
	}, out)
}

// looked is inspected with another way to look at an app.
func (f *appFlags) looked(
	ctx context.Context, args []string, look func(context.Context, *Cluster, app.Key) ([]view.Detail, error), out detailOutput,
) error {
	f.form.one = len(args) == 1 && !f.preview.Members
	return f.connected(ctx, func(c *Cluster) error {
		keys, err := f.previewTargets(ctx, c, args)
		if err != nil {
			return err
		}
		err = forEach(ctx, f.program, 0, keys, func(ctx context.Context, k app.Key) error {
			found, err := look(ctx, c, k)
			if err != nil {
				return err
			}
			return forEach(ctx, f.program, 0, found, func(_ context.Context, d view.Detail) error { return out.add(d) })
		})
		if ctx.Err() != nil {
			return err
		}
		return alsoFailed(f.program, err, out.end(err != nil))
	})
}

// stopped is the error of a run that a stage has stopped.
func stopped(d view.Detail) error {
	if code := stoppedAt(d.Report.Stage, d.Report.Reason); code != exit.Same {
		return &exit.Error{Code: code, Err: fmt.Errorf("%s: %s", d.Report.App, d.Report.Stop())}
	}
	return nil
}

// stoppedAt is the exit code for where a run has stopped. Objects that could not be compared are found among the others.
func stoppedAt(s report.Stage, why report.Reason) exit.Code {
	switch {
	case s == report.Done || s == report.Depend || s == report.Apply && why == report.ApplyFailed:
		return exit.Same
	case why == report.ClusterFailed || why == report.RecordFailed:
		return exit.Cluster
	case s == report.Admit:
		return exit.Usage
	case s == report.Fetch || s == report.Render || s == report.Normalize || s == report.Validate:
		return exit.Render
	}
	return exit.Cluster
}
