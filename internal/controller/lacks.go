package controller

import (
	"context"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/notify"
	"github.com/truce-gitops/truce/internal/object"
)

// lookForLacks reads the CRDs of the apps' custom resources before the first of those is: the server may have dropped what one asks for.
func (c *Controller) lookForLacks(ctx context.Context) {
	for gvk := range c.Kinds.Apps {
		res, err := c.Cluster.Resource(gvk)
		if err != nil {
			continue // not there yet: the watch of CRDs will tell
		}
		id := object.ID{Group: definitions.Group, Kind: definitions.Kind, Name: res.GVR.GroupResource().String()}
		crd, err := c.engine.Live.Get(ctx, definitions, id)
		if err != nil {
			c.Log.Warn("definition", "name", id.Name, "error", err.Error())
			continue
		}
		c.lacks(crd)
		c.groups.keep(id.Name, definition{uid: crd.UID(), generation: crd.Generation(), schema: schemaOf(crd)})
	}
}

// lacks takes note of what a CRD drops from apps, and runs all of them when that has changed.
func (c *Controller) lacks(crd object.Object) {
	if c.Kinds.Lacks == nil {
		return
	}
	kind, _ := crd.At("spec", "names", "kind").(string)
	note := c.Kinds.Lacks(crd)
	c.mu.Lock()
	changed := c.lacking[kind] != note
	c.lacking[kind] = note
	if changed {
		clear(c.remarked)
	}
	var apps []app.Key
	for key := range c.appSet {
		if changed && key.Kind == kind {
			apps = append(apps, key)
		}
	}
	c.mu.Unlock()
	for _, key := range apps {
		c.rerun(key)
	}
}

// remark returns the app with what its CRD lacks among the notes, and tells that as an event, once.
func (c *Controller) remark(asked appEntry) app.App {
	a := asked.app
	c.mu.Lock()
	note := c.lacking[a.Key.Kind]
	fresh := note != "" && c.remarked[a.Key] != note
	if fresh {
		c.remarked[a.Key] = note
	}
	c.mu.Unlock()
	if fresh && a.Policy.Mode != app.Observe && !strings.Contains(fingerprintOf(asked.cr.At("status", "conditions")), note) { // nor by a truce before this one
		c.emit(a.Key, notify.News{Severity: notify.Error, Reason: "FieldsDropped", Text: note}, nil)
	}
	if note != "" {
		a.Notes = append(slices.Clip(a.Notes), note)
	}
	return a
}
