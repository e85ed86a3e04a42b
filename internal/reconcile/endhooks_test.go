package reconcile

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/source"
)

// TestWhenAFailedHookOfTheEndRunsAgain: with another revision, on request and after the app's interval, and not before. One that has succeeded does not.
func TestWhenAFailedHookOfTheEndRunsAgain(t *testing.T) {
	failed := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	was := inventory.Operation{Key: "deletion of uid at one", Cause: "it failed", Failed: failed}.
		With("good", hook.Run{Phase: hook.Succeeded}).With("bad", hook.Run{Phase: hook.Failed})
	for what, c := range map[string]struct {
		revision, request string
		after             time.Duration
		again             bool
	}{
		"at once":               {"one", "", 0, false},
		"before the interval":   {"one", "", 3*time.Minute - time.Second, false},
		"after the interval":    {"one", "", 3 * time.Minute, true},
		"on request":            {"one", "refresh", 0, true},
		"with another revision": {"two", "", 0, true},
	} {
		r := &appRun{
			engine: &Engine{Dependencies: Dependencies{Now: func() time.Time { return failed.Add(c.after) }}},
			app:    app.App{UID: "uid", Interval: 3 * time.Minute, Request: c.request}, artifact: source.Artifact{Revision: c.revision},
			inventory: inventory.Record{Operation: was},
		}
		r.takeUpEnd()
		now := r.inventory.Operation
		_, good := now.Hooks["good"]
		if _, bad := now.Hooks["bad"]; bad == c.again || !good || (now.Cause == "") != c.again {
			t.Errorf("%s: %+v", what, now)
		}
	}
}
