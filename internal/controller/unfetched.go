package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// withFetch is the app, and why the newest look at its source has failed, where an earlier one has found an artifact. A source that is a custom
// resource says it itself, and the app stays as it is, as in Flux.
func (c *Controller) withFetch(a app.App) app.App {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if e := c.sourceSet[a.Source]; e != nil && e.cr == nil && e.state.Err != nil && e.state.Artifact.Files != nil {
		a.Unfetched = redact.MaskText(e.state.Err.Error())
	}
	return a
}

// reportUnfetched reports to the apps that read another revision of a source why it is not fetched: they wait for the first look.
func (c *Controller) reportUnfetched(ctx context.Context, key app.SourceKey, why string) time.Duration {
	c.mu.RLock()
	e := c.sourceSet[key]
	known, listing := e != nil && e.base != (app.SourceKey{}), c.isListing()
	c.mu.RUnlock()
	if listing {
		return listingWait
	}
	if known {
		_ = c.setSourceState(ctx, key, dialect.SourceState{Err: fmt.Errorf("%s %s", key.Own(), why), At: time.Now()}) // it has no status
	}
	return 0
}
