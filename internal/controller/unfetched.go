package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
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

// isComing reports whether the API server has the custom resource of a source that its watch has not shown yet: the watches of two kinds are not in
// step, and an app that was created after its source may be known first. It asks the server. What should have been shown long ago is not awaited.
func (c *Controller) isComing(ctx context.Context, key app.SourceKey) bool {
	c.mu.RLock()
	known, err := c.sourceSet[key.Own()] != nil, c.unlisted(key.Kind)
	c.mu.RUnlock()
	if known || err != nil || !c.Namespaces.Cover(key.Namespace) {
		return false
	}
	for gvk := range c.Kinds.Sources {
		if gvk.Kind != key.Kind {
			continue
		}
		cr, err := c.Engine().Live.Get(ctx, gvk, object.ID{Group: gvk.Group, Kind: key.Kind, Namespace: key.Namespace, Name: key.Name})
		if err != nil {
			return false // the app says that it has no source
		}
		created, err := time.Parse(time.RFC3339, cr.StringAt("metadata", "creationTimestamp"))
		return err == nil && time.Since(created) < listingWait
	}
	return false
}

// reportUnknown is reportUnfetched of a source whose custom resource is not known.
func (c *Controller) reportUnknown(ctx context.Context, key app.SourceKey) time.Duration {
	if c.isComing(ctx, key) {
		return comingPause
	}
	c.mu.RLock()
	listing := c.isListing()
	c.mu.RUnlock()
	if listing {
		return listingWait
	}
	if _, cr := c.sourceResource(key); cr != nil {
		return comingPause // the list has shown it meanwhile
	}
	return c.reportUnfetched(key, "is not in the cluster")
}

// reportUnfetched reports to the apps of a source without an artifact, or that read another revision of it, why it is not fetched: they wait for the first look.
func (c *Controller) reportUnfetched(key app.SourceKey, why string) time.Duration {
	c.mu.RLock()
	e := c.sourceSet[key]
	known, listing := e != nil && (e.base != (app.SourceKey{}) || e.cr != nil && e.state.Artifact.Files == nil), c.isListing()
	c.mu.RUnlock()
	if listing {
		return listingWait
	}
	if known {
		c.keepSourceState(key, "", dialect.SourceState{Err: fmt.Errorf("%s %s", key.Own(), why), At: time.Now()})
	}
	return 0
}

// hasAnotherCause reports whether a source that has no artifact is not fetched for another reason than before. What varies from try to try is not compared.
func hasAnotherCause(before, now dialect.SourceState) bool {
	if now.Artifact.Files != nil || now.Err == nil || before.Err == nil {
		return false
	}
	return matter.FailureForm("", before.Err.Error()) != matter.FailureForm("", now.Err.Error())
}

// readersOf returns the apps that read a source. They are due where their statuses have a cause of before. The caller holds mu.
func (c *Controller) readersOf(key app.SourceKey, due bool) []app.Key {
	var out []app.Key
	for k, a := range c.appSet {
		if a.app.Source != key {
			continue
		}
		if out = append(out, k); due {
			a.due = time.Time{}
		}
	}
	return out
}
