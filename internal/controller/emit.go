package controller

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify"
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

// emit hands news of an app to the goroutines that write Events and send messages: what is lost there loses no state, and no worker waits for
// it.
func (c *Controller) emit(key app.Key, n notify.Event) {
	c.emitMessage(key, notify.Message{Event: n})
}

// emitMessage is emit with a matter and evidence.
func (c *Controller) emitMessage(key app.Key, said notify.Message) {
	m, version, ok := c.messageOf(key, said)
	if !ok {
		return
	}
	c.noteMatter(key, m)
	c.enqueueEvent(m, version)
}

// messageOf returns a message with what its app's custom resource adds to it, and the version of that; false where the app is gone.
func (c *Controller) messageOf(key app.Key, said notify.Message) (m notify.Message, version string, ok bool) {
	e, ok := c.entry(key)
	if !ok {
		return m, "", false
	}
	m = messageAbout(e.cr)
	m.Event, m.Origin, m.Evidence, m.Matter, m.Cause = said.Event, said.Origin, said.Evidence, said.Matter, said.Cause
	return m, e.cr.ResourceVersion(), true
}

// enqueueEvent is emit for any object.
func (c *Controller) enqueueEvent(m notify.Message, version string) {
	kind, note := "Normal", m.Text
	if changed := m.Evidence[notify.FactChanged]; changed != "" {
		note += "; " + changed
	}
	if m.Severity == notify.Error {
		kind = "Warning"
	}
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	namespace := cmp.Or(m.About.Namespace, "default") // where Kubernetes puts Events about what has none
	ev := map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event",
		"metadata":  map[string]any{"generateName": m.About.Name + "-", "namespace": namespace},
		"eventTime": m.At.UTC().Format(metav1.RFC3339Micro), "type": kind, "reason": m.Reason, "note": note, "action": "Reconcile",
		"reportingController": "truce", "reportingInstance": "truce-controller",
		"regarding": map[string]any{
			"apiVersion": m.APIVersion, "kind": m.About.Kind, "name": m.About.Name, "namespace": m.About.Namespace,
			"uid": m.UID, "resourceVersion": version,
		},
	}
	select {
	case c.events <- &unstructured.Unstructured{Object: ev}:
	default:
		c.dropped.Add(1)
	}
	if c.Outlet != nil {
		c.Outlet.Accept(m)
	}
	c.enqueueMessage(m)
}

// enqueueMessage hands a message to the goroutine that brings it to the receiver of Events, if there is one.
func (c *Controller) enqueueMessage(m notify.Message) {
	if c.Notify == nil {
		return
	}
	select {
	case c.messages <- m:
	default:
		c.Log.Warn("message dropped: too many at once", "about", m.About.String(), "reason", m.Reason)
	}
}

// sendMessages brings messages to the receiver until ctx ends.
func (c *Controller) sendMessages(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-c.messages:
			c.recoverPanic("message", m.About.String(), func() { c.sendMessage(ctx, m) })
		}
	}
}

func (c *Controller) sendMessage(ctx context.Context, m notify.Message) {
	if err := c.Notify.Send(ctx, m); err != nil && ctx.Err() == nil {
		c.Log.Warn("message", "about", m.About.String(), "reason", m.Reason, "error", err.Error())
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
			c.recoverPanic("own event", ev.GetGenerateName(), func() { c.writeEvent(ctx, ev) })
			c.reportDroppedEvents()
		}
	}
}

func (c *Controller) writeEvent(ctx context.Context, ev *unstructured.Unstructured) {
	r, err := c.resource(object.GVK{Group: "events.k8s.io", Version: "v1", Kind: "Event"}, ev.GetNamespace())
	if err == nil {
		_, err = r.Create(ctx, ev, metav1.CreateOptions{FieldManager: statusManager})
	}
	if err != nil && ctx.Err() == nil {
		c.Log.Warn("event", "about", ev.GetGenerateName(), "error", err.Error())
	}
}

// reportDroppedEvents says once, when the crowd has passed, how many events found no room.
func (c *Controller) reportDroppedEvents() {
	if len(c.events) > 0 {
		return
	}
	if n := c.dropped.Swap(0); n > 0 {
		c.Log.Warn("events dropped: too many at once", "count", n)
	}
}
