package controller

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// lookForLacks reads the CRDs of the apps' custom resources before the first of those is: the server may have dropped what one asks for.
func (c *Controller) lookForLacks(ctx context.Context) {
	for gvk := range c.Kinds.Apps {
		res, err := c.Cluster.Resource(gvk)
		if err != nil {
			continue // not there yet: the watch of CRDs will report it
		}
		id := object.ID{Group: definitions.Group, Kind: definitions.Kind, Name: res.GVR.GroupResource().String()}
		crd, err := c.Engine().Live.Get(ctx, definitions, id)
		if err != nil {
			c.Log.Warn("definition", "name", id.Name, "error", err.Error())
			continue
		}
		c.lacks(crd)
		c.targets.own.groups.setHandled(id.Name, definition{uid: crd.UID(), generation: crd.Generation(), schema: schemaOf(crd)})
	}
}

// lacks takes note of what a CRD drops from apps, reports it once for the cluster, and runs all its apps when that has changed.
func (c *Controller) lacks(crd object.Object) {
	if c.Kinds.Fields == nil {
		return
	}
	kind, _ := crd.At("spec", "names", "kind").(string)
	note := c.Kinds.Fields.DroppedHint(crd)
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
	if changed && note != "" {
		c.reportLack(crd, note)
	}
	for _, key := range apps {
		c.EnqueueApp(key)
	}
}

// reportLack says once for the cluster what a CRD drops: in the log, and in an Event about the CRD where this truce works for all namespaces.
func (c *Controller) reportLack(crd object.Object, note string) {
	c.Log.Warn("definition", "name", crd.Name(), "note", note)
	if c.Process.Mode == policy.Observe || c.Namespaces.Limited() {
		return
	}
	c.enqueueEvent(notify.Message{
		Event: notify.Event{Severity: notify.Info, Reason: fieldsDropped, Text: note}, About: crd.ID(), APIVersion: crd.APIVersion(), UID: crd.UID(), At: time.Now(),
	}, crd.ResourceVersion())
}

// fieldsDropped is the reason of an Event about fields that the API server does not store.
const fieldsDropped = "FieldsDropped"

// withNoteOfLack returns the app with what its CRD has dropped of it among the notes, and reports that by an Event, once.
func (c *Controller) withNoteOfLack(asked appEntry) app.App {
	a := asked.app
	c.mu.Lock()
	note := droppedFields(asked.cr, c.lacking[a.Key.Kind])
	fresh := note != "" && c.remarked[a.Key] != note
	if fresh {
		c.remarked[a.Key] = note
	}
	c.mu.Unlock()
	if fresh && a.Policy.Mode != policy.Observe && !strings.Contains(fingerprintOf(asked.cr.At("status", "conditions")), note) { // nor by a truce before this one
		c.emit(a.Key, notify.Event{Severity: notify.Error, Reason: fieldsDropped, Text: note})
	}
	if note != "" {
		a.Notes = append(slices.Clip(a.Notes), note)
	}
	return a
}

// lastApplied is the annotation in which kubectl apply and Argo CD note what they have sent.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// droppedFields is the note on a custom resource of which the API server has not stored a field: it was sent, the CRD lacks it, and it is not there.
func droppedFields(cr object.Object, lack string) string {
	text, ok := cr.Annotation(lastApplied)
	var sent struct {
		Spec map[string]any `json:"spec"`
	}
	if lack == "" || !ok || json.Unmarshal([]byte(text), &sent) != nil {
		return ""
	}
	var gone []string
	for _, key := range slices.Sorted(maps.Keys(sent.Spec)) {
		if cr.At("spec", key) == nil && strings.Contains(lack, "spec."+key) {
			gone = append(gone, "spec."+key)
		}
	}
	if len(gone) == 0 {
		return ""
	}
	return strings.Join(gone, ", ") + " was sent and is not stored: " + lack
}
