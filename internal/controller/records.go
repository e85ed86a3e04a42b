package controller

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/model/app"
)

// What a run leaves to be written into its app's record waits until the server has time: no app waits to be run, or it has waited
// long enough. At the end it is written as far as a moment suffices.
const (
	recordPause   = 250 * time.Millisecond
	recordAgain   = time.Second
	recordPatient = 30 * time.Second
	recordMoment  = 2 * time.Second
	recordWorkers = 2
)

// writeInventory writes down what an app's last run has left to be written.
func (c *Controller) writeInventory(ctx context.Context, key app.Key) time.Duration {
	since := c.engineOf(key).InventoryPendingSince(key)
	if since.IsZero() {
		return 0
	}
	if c.apps.Len() > 0 && time.Since(since) < recordPatient {
		return recordAgain
	}
	err := c.engineOf(key).WriteInventory(ctx, key)
	if err != nil && ctx.Err() == nil { // else writeLastInventories tries once more
		c.Log.Warn("write inventory", "app", key.String(), "error", err.Error())
		return recordPatient
	}
	return 0
}

// writeLastInventories writes down what is left when everything has ended. What does not succeed is read again at the next start.
func (c *Controller) writeLastInventories(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordMoment)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(c.Workers.Statuses)
	pending := c.pendingInventories()
	failed := make([]error, len(pending))
	for i, key := range pending {
		g.Go(func() error {
			c.recoverPanic("inventory", key.String(), func() { failed[i] = c.engineOf(key).WriteInventory(ctx, key) })
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) > 0 {
		c.Log.Warn("some inventories do not say yet what was compared: the next start reads their objects", "apps", len(failed), "error", failed[0].Error())
	}
}

// pendingInventories lists the apps of all clusters whose inventories are left to be written.
func (c *Controller) pendingInventories() []app.Key {
	var out []app.Key
	for _, t := range c.targets.all() {
		out = append(out, t.engine.PendingInventories()...)
	}
	return out
}
