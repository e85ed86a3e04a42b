package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/report"
)

// idleFor is how long nothing may move where no running controller is known.
const idleFor = 10 * time.Second

// errNoController ends a wait that no controller is seen to end.
var errNoController = errors.New("no controller")

// moveProgress is an app on its way to truce, or back.
type moveProgress struct {
	app   app.Key
	moves []report.ListedObject
	stays []report.Object // what cannot be adopted
	done  string
}

// end waits until a passage is over, and prints its progress and what stays behind.
func (f *adoptFlags) end(ctx context.Context, c *Cluster, way moveProgress) error {
	if f.dryRun || !f.wait {
		return nil
	}
	p, begin := f.program.progress(way.app), time.Now()
	doubt, err := c.ControllerAbsence(ctx, way.app.Namespace)
	if err != nil {
		return err
	}
	ctx, cancel := withOptionalTimeout(ctx, time.Duration(f.timeout))
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	idle := time.AfterFunc(idleFor, func() { giveUp(errNoController) })
	defer idle.Stop()
	if doubt == "" {
		idle.Stop()
	}
	first, total := -1, 0
	err = c.FollowMove(ctx, way.app, way.moves, func(moved, all int) bool {
		if first < 0 {
			first = moved
		}
		if moved > first {
			idle.Stop()
		}
		total = all
		if all > 0 {
			p.say(fmt.Sprintf("%d of %s moved", moved, countObjects(all)))
		}
		return false
	})
	switch {
	case errors.Is(err, errNoController):
		return f.fails(p, doubt+", and nothing has moved: it is done as soon as one runs")
	case errors.Is(err, context.DeadlineExceeded):
		return f.fails(p, fmt.Sprintf("not in time: %v%s", err, appMessage(context.WithoutCancel(ctx), c, way.app)))
	case err != nil:
		return controllerGoesOn(err, resourceName(way.app))
	}
	done := way.done
	if total > 0 { // else there is none, or none that may be seen
		done += ", " + countObjects(total)
	}
	return way.outcome(p, fmt.Sprintf("%s (%s)", done, time.Since(begin).Round(time.Millisecond)))
}

func (f *adoptFlags) fails(p *progress, s string) error {
	p.fail(s)
	return &exit.Error{Code: exit.Differs}
}

// appMessage is what the controller says of the app; nothing where it says nothing.
func appMessage(ctx context.Context, c *Cluster, k app.Key) string {
	const within = 2 * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	said, err := c.AppState(ctx, k)
	if err != nil || said.Message == "" {
		return ""
	}
	return "; the app says: " + said.Message
}

// outcome says that all has moved, and what has not.
func (w moveProgress) outcome(p *progress, done string) error {
	var err error
	for _, o := range w.stays {
		p.fail(o.ID.String() + ": " + o.Problem)
		err = &exit.Error{Code: exit.Differs}
	}
	p.done(done)
	return err
}

func countObjects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
