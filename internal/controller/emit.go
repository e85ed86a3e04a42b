package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// fingerprintOf prints decoded JSON in one form, for comparing.
func fingerprintOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(text)
}

// digest stands for a status: the text of one with a long inventory is not worth keeping.
type digest [sha256.Size]byte

func digestOf(status object.Object) digest { return sha256.Sum256([]byte(fingerprintOf(status))) }

// maxNote is the longest note that the events API takes, in bytes.
const maxNote = 1024

// emit hands one event to the goroutine that writes them: an event that is lost loses no state, and nobody waits for it.
func (c *Controller) emit(key app.Key, kind, reason, note string) {
	e, ok := c.entry(key)
	if !ok {
		return
	}
	now := c.Now().UTC()
	if len(note) > maxNote {
		note = note[:maxNote-3] + "..."
	}
	ev := map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event",
		"metadata":  map[string]any{"generateName": e.cr.Name() + "-", "namespace": e.cr.Namespace()},
		"eventTime": now.Format(metav1.RFC3339Micro), "type": kind, "reason": reason, "note": note, "action": "Reconcile",
		"reportingController": "truce", "reportingInstance": "truce-controller",
		"regarding": map[string]any{
			"apiVersion": e.cr.APIVersion(), "kind": e.cr["kind"], "name": e.cr.Name(), "namespace": e.cr.Namespace(),
			"uid": e.cr.UID(), "resourceVersion": e.cr.ResourceVersion(),
		},
	}
	select {
	case c.events <- &unstructured.Unstructured{Object: ev}:
	default:
		c.Log.Warn("event dropped: too many at once", "app", key.String(), "reason", reason)
	}
}

// pendingEvents is how many events may wait to be written.
const pendingEvents = 1024

// writeEvents writes events until ctx ends.
func (c *Controller) writeEvents(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev := <-c.events:
			r, err := c.resource(object.GVK{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, ev.GetNamespace())
			if err == nil {
				_, err = r.Create(ctx, ev, metav1.CreateOptions{FieldManager: statusManager})
			}
			if err != nil && ctx.Err() == nil {
				c.Log.Warn("event", "about", ev.GetGenerateName(), "error", err.Error())
			}
		}
	}
}
