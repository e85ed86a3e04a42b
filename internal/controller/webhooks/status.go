package webhooks

import (
	"context"
	"encoding/json"
	"net"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/controller/endpoint"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/source/webhook"
)

// manager is the field manager of what is written here, as of the statuses of apps.
const manager = "truce-controller"

// writeStatus writes the status of a Receiver, if it is another one than it has.
func (h *Hooks) writeStatus(ctx context.Context, e entry) error {
	r := e.receiver
	next := h.Dialect.Status(e.cr, webhook.State{Problems: r.Problems, Missing: e.missing, Path: e.path, Notes: r.Notes, Handled: e.handled, At: time.Now()})
	if had, _ := e.cr.At("status").(map[string]any); field.EqualValues(next, had) {
		return nil
	}
	if e.missing != "" {
		h.Log.Warn("receiver", "name", r.Key.String(), "error", e.missing)
	}
	return h.patch(ctx, e, []map[string]any{{"op": "add", "path": "/status", "value": next}}, "status")
}

// storageWait is how long another controller has to take its finalizer off a Receiver that is being deleted: one that works takes milliseconds.
const storageWait = 5 * time.Second

// released takes the finalizer of another controller off a Receiver that is being deleted, and returns the entry with the time of the next look. Flux's
// notification-controller puts one on each, and where it does not run any more, the Receiver would stay for ever.
func (h *Hooks) released(ctx context.Context, e entry) entry {
	e.secret, e.path, e.missing = webhook.Secret{}, "", ""
	e.due = time.Now().Add(time.Hour)
	left := e.cr.Finalizers()
	if !slices.Contains(left, e.receiver.Finalizer) {
		return e
	}
	left = slices.DeleteFunc(left, func(name string) bool { return name == e.receiver.Finalizer })
	if end := e.receiver.Deleting.Add(storageWait); time.Now().Before(end) {
		e.due = end
		return e
	}
	err := h.patch(ctx, e, []map[string]any{
		{"op": "replace", "path": "/metadata/resourceVersion", "value": e.cr.ResourceVersion()}, {"op": "add", "path": "/metadata/finalizers", "value": left},
	})
	if err != nil {
		h.Log.Warn("finalizer", "kind", h.Dialect.Kind().Kind, "name", e.receiver.Key.String(), "error", err.Error())
		e.due = time.Now().Add(retryToken)
	}
	return e
}

// patch changes a Receiver, or a subresource of it. One that is gone, or that truce may only observe, is left.
func (h *Hooks) patch(ctx context.Context, e entry, ops []map[string]any, sub ...string) error {
	body, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	res, err := h.Cluster.Resource(h.Dialect.Kind())
	if err == nil {
		_, err = h.Cluster.Dynamic().Resource(res.GVR).Namespace(e.receiver.Key.Namespace).Patch(ctx, e.receiver.Key.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: manager}, sub...)
	}
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// startPointing makes the Service lead here until ctx ends: who stands by turns webhooks away. The channel is closed when it has stopped.
func (h *Hooks) startPointing(ctx context.Context) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if h.Place.Service == "" {
			return
		}
		port, err := listenPort(h.Place.Listen)
		if err != nil {
			h.Log.Warn("the Service of webhooks does not lead here", "service", h.Place.String(), "error", err.Error())
			return
		}
		h.Place.Keep(ctx, endpoint.Options{Cluster: h.Cluster, Log: h.Log, Port: endpoint.Port{Name: "http", Number: port}})
	}()
	return done
}

// listenPort is the port of an address.
func listenPort(address string) (int64, error) {
	_, text, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 32)
}
