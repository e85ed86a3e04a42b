package controller

import (
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// CustomResources returns the sources and apps of a kind in a namespace, for webhooks.
func (c *Controller) CustomResources(kind, namespace string) []object.Object {
	var out []object.Object
	var apps []app.Key
	c.mu.RLock()
	for key, e := range c.sourceSet {
		if key.Kind == kind && key.Namespace == namespace && e.cr != nil {
			out = append(out, e.cr)
		}
	}
	for key := range c.appSet {
		if key.Kind == kind && key.Namespace == namespace {
			apps = append(apps, key)
		}
	}
	c.mu.RUnlock()
	for _, key := range apps {
		if e, there := c.entry(key); there {
			out = append(out, e.cr)
		}
	}
	return out
}

// Request has a source be fetched, in all revisions that apps read of it, or an app run, at once. What is suspended stays so.
func (c *Controller) Request(kind, namespace, name string) {
	base := app.SourceKey{Kind: kind, Namespace: namespace, Name: name}
	var sources []app.SourceKey
	c.mu.RLock()
	for key, e := range c.sourceSet {
		if key == base || e.base == base && !isPinnedToCommit(key) {
			sources = append(sources, key)
		}
	}
	key := app.Key{Kind: kind, Namespace: namespace, Name: name}
	_, isApp := c.appSet[key]
	c.mu.RUnlock()
	c.enqueueSources(sources)
	if isApp {
		c.EnqueueApp(key)
	}
}

// RequestPushed has all sources be fetched at once that follow what was pushed, and returns how many.
func (c *Controller) RequestPushed(p webhook.Push) int {
	var keys, pushed []app.SourceKey
	c.mu.RLock()
	for key := range c.sourceSet {
		keys = append(keys, key)
	}
	c.mu.RUnlock()
	for _, key := range keys {
		f, cr := c.sourceResource(key)
		if cr == nil || key.IsJoined() { // its parts are asked for
			continue
		}
		spec, _ := f.Spec(cr, source.Secrets{}) // without credentials; one that cannot be read has no address
		if p.Concerns(pinnedSpec(spec, key)) {
			pushed = append(pushed, key)
		}
	}
	c.enqueueSources(pushed)
	return len(pushed)
}
