package controller

import (
	"context"
	"sync"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// valueKinds are the kinds that apps take variables and decryption keys from.
var valueKinds = []object.GVK{{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}}

// valueWatches are the watches of the ConfigMaps and Secrets that ask for a run when they change. They begin with the first app that names one.
type valueWatches struct {
	ctx   context.Context
	begin sync.Once
}

// watchValues watches the metadata of ConfigMaps and Secrets that the selector selects, once an app takes variables or keys from any.
func (c *Controller) watchValues(a app.App) {
	if !a.ReadsAny() {
		return
	}
	c.values.begin.Do(func() {
		for _, namespace := range c.Namespaces.Each() {
			for _, gvk := range valueKinds {
				i := live.Interest{GVK: gvk, Namespace: namespace, Selector: c.Kinds.ValuesSelector, Depth: live.Metadata}
				c.Watcher.Watch(c.values.ctx, i, c.onValuesEvent)
			}
		}
	})
}

// onValuesEvent runs the apps that take variables or keys from what has changed.
func (c *Controller) onValuesEvent(ev live.Event) {
	var apps []app.Key
	c.mu.RLock()
	for key, e := range c.appSet {
		if key.Namespace == ev.ID.Namespace && e.app.Reads(ev.ID.Kind, ev.ID.Name) {
			apps = append(apps, key)
		}
	}
	c.mu.RUnlock()
	for _, key := range apps {
		c.EnqueueApp(key)
	}
}
