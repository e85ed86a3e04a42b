package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/view"
)

// watchAfterSyncFor is how long a sync that overrides the breaker waits for the other controller to change a contested field back.
const watchAfterSyncFor = 3 * time.Second

// watchAfterSync follows an app after a sync until a field is contested again that was contested before, or for aftermathWait. It returns what
// came of the app by then.
func watchAfterSync(ctx context.Context, c *Cluster, k app.Key, last view.Summary, before string) (view.Summary, error) {
	if before == "" || contestedAgain(last, before) {
		return last, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, watchAfterSyncFor, errNoEvent)
	defer cancel()
	now, err := awaitApp(ctx, c, k, func(a view.Summary) bool { return contestedAgain(a, before) })
	if errors.Is(context.Cause(ctx), errNoEvent) {
		if now.Key == k {
			last = now
		}
		return last, nil
	}
	return now, err
}

var errNoEvent = errors.New("nothing has changed it back")

// contestedAgain reports whether a field is contested, as of a newer try than the one that was reported before.
func contestedAgain(a view.Summary, before string) bool {
	return a.Contested != "" && a.Contested != before
}

// retried is the outcome of a sync of an app with contested fields.
func (p *progress) retried(a view.Summary, before string, begin time.Time) error {
	switch {
	case contestedAgain(a, before):
		p.fail("corrected, and changed back: still contested: " + a.Contested)
		return &exit.Error{Code: exit.Differs}
	case a.Contested != "":
		p.fail("still contested: " + a.Contested)
		return &exit.Error{Code: exit.Differs}
	}
	if err := p.outcome(a, begin); err != nil {
		return err
	}
	p.done(fmt.Sprintf("the contested fields are corrected; no change back within %s", watchAfterSyncFor))
	return nil
}
