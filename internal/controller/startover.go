package controller

import (
	"context"
	"errors"
	"time"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
)

// startOver forgets what is known of custom resources and objects: the API server's data went back to an older state. The watches list them
// again; each app runs again, and each status is written that is not there any more.
func (c *Controller) startOver() {
	c.Log.Warn("the API server's data went back to an older state: everything is listed and compared again, and the first run of each app prunes nothing")
	c.mu.Lock()
	c.eras++
	for _, e := range c.appSet {
		e.version, e.wrote, e.said = 0, digest{}, nil
	}
	for _, e := range c.sourceSet {
		e.wrote = digest{}
	}
	c.mu.Unlock()
	c.Engine().StartOver()
}

// confirmApp reads an app's custom resource before its first run after the server's data went back, and returns how long the run has to wait. The
// list that showed the app may have been out of date: objects that are created for an app that is gone would stay, and those of one that was suspended
// or handed back since would be written.
func (c *Controller) confirmApp(ctx context.Context, e appEntry) time.Duration {
	c.mu.RLock()
	era := c.eras
	c.mu.RUnlock()
	if e.confirmed == era {
		return 0
	}
	key := e.app.Key
	now, err := c.Engine().Live.Get(ctx, e.gvk, object.ID{Group: e.gvk.Group, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name})
	switch {
	case errors.Is(err, live.ErrNotFound), err == nil && now.UID() != e.asks.uid:
		return retryGone // the watch is about to report it
	case err != nil:
		c.Log.Warn("read", "app", key.String(), "error", err.Error())
		return retryObject
	}
	c.answered(e, now) // a list that comes later and is older changes nothing
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.appSet[key]; known != nil && known.asks.uid == e.asks.uid {
		known.confirmed = era
	}
	if now.ResourceVersion() != e.cr.ResourceVersion() {
		return retryConflict // the run is about what was read
	}
	return 0
}
