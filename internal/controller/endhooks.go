package controller

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// markEndHooks has the finalizers on an app's custom resource by which it waits for hooks when it is deleted: those of the events at which the newest
// revision has hooks. It returns a pause where that could not be written.
func (c *Controller) markEndHooks(ctx context.Context, key app.Key, r report.Report) time.Duration {
	e, ok := c.entry(key)
	if !ok || r.EndHooks == nil || e.app.Deleting || e.app.Suspended || e.app.Policy.Mode != policy.Enforce || e.app.Adoption.Mode == policy.HandBack {
		return 0
	}
	have := e.cr.Finalizers()
	want := e.app.WithEndHooks(have, r.EndHooks)
	if slices.Equal(have, want) {
		return 0
	}
	return c.retryNote(e, c.patchFinalizers(ctx, e.cr, want))
}

// awaitEndHooks is how long an app that is being deleted waits for its source, which has its hooks.
func (c *Controller) awaitEndHooks(e appEntry) time.Duration {
	if !e.app.AsksForEndHooks() {
		return 0
	}
	return c.awaitSource(e.app.Source)
}

// untilLookedAgain is how long a deletion waits for hooks, or for objects to be gone, at most: an event enqueues the app.
func untilLookedAgain(e appEntry, waits hooks.WaitErrors) time.Duration {
	if until := waits.Until(); !until.IsZero() {
		return max(time.Until(until), time.Millisecond)
	}
	return cmp.Or(e.app.Interval, retryObject)
}

// pauseOfDeletion is the pause before a deletion is tried again that has failed.
func pauseOfDeletion(e appEntry, err error) time.Duration {
	var failed *hooks.HookError
	if errors.As(err, &failed) && e.app.AsksForEndHooks() {
		return cmp.Or(e.app.Interval, retryObject)
	}
	return retryObject
}
