package notices

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/dialect/registry"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report/notify/matter"
	"github.com/truce-gitops/truce/internal/report/notify/route"
)

// statusManager is the field manager of statuses, as of those of apps.
const statusManager = "truce-controller"

// writeStatuses writes the statuses of Providers and Alerts until ctx ends.
func (o *Outlet) writeStatuses(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.dirty:
			o.mu.Lock()
			changed := o.changed
			o.changed = map[objectKey]bool{}
			o.mu.Unlock()
			for key := range changed {
				o.guard("status", func() { o.writeStatus(ctx, key) })
			}
		}
	}
}

// state returns a Provider's or an Alert's custom resource, and what its status says.
func (o *Outlet) state(key objectKey) (object.Object, route.State) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if key.kind == registry.Providers.Kind {
		e := o.providers[key.Key]
		return e.cr, route.State{Problems: e.provider.Problems, Failing: e.failing, Notes: e.provider.Notes, Suspended: e.provider.Suspended, At: time.Now()}
	}
	e := o.alerts[key.Key]
	s := route.State{Problems: e.alert.Problems, Notes: e.alert.Notes, Ignored: e.alert.Ignored, Suspended: e.alert.Suspended, At: time.Now()}
	if _, there := o.providers[route.Key{Namespace: key.Namespace, Name: e.alert.Provider}]; !there && len(s.Problems) == 0 {
		s.Problems = []app.Problem{{Field: "spec.providerRef.name", Reason: fmt.Sprintf("Provider %s/%s is not there", key.Namespace, e.alert.Provider)}}
	}
	return e.cr, s
}

func (o *Outlet) writeStatus(ctx context.Context, key objectKey) {
	if key == o.subscribers.configKey() {
		if cr, s := o.subscribers.state(); cr != nil {
			o.warn(ctx, key, cr, s)
		}
		return
	}
	cr, s := o.state(key)
	if cr == nil {
		return
	}
	next := o.Dialect.Status(cr, s)
	if had, _ := cr.At("status").(map[string]any); field.EqualValues(next, had) {
		return
	}
	o.warn(ctx, key, cr, s)
	body, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": next}})
	if err != nil {
		return
	}
	res, err := o.Cluster.Resource(cr.GVK())
	if err == nil {
		_, err = o.Cluster.Dynamic().Resource(res.GVR).Namespace(key.Namespace).Patch(ctx, key.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: statusManager}, "status")
	}
	if err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) { // it is gone, its definition is Flux's, which has no status, or truce only observes
		o.Log.Warn("status", "kind", key.kind, "name", key.String(), "error", err.Error())
	}
}

// warn writes Events when a Provider or an Alert begins to fail, or to hold what is ignored: the definitions of Flux have no status.
func (o *Outlet) warn(ctx context.Context, key objectKey, cr object.Object, s route.State) {
	failing, ignored := s.Failing, ""
	for _, p := range s.Problems {
		failing += p.String() + "; "
	}
	for _, p := range s.Ignored {
		ignored += p.String() + "; "
	}
	if !o.isNewFault(key, failing+ignored) {
		return
	}
	o.writeEvent(ctx, key, cr, "NotificationFailed", failing)
	o.writeEvent(ctx, key, cr, "InvalidConfig", ignored)
}

// isNewFault notes what is wrong with a Provider or an Alert, and reports whether it is another fault than the one noted before, or none any more.
func (o *Outlet) isNewFault(key objectKey, text string) bool {
	form := ""
	if text != "" {
		form = matter.FailureForm("", text)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.wrote[key] == form
	o.wrote[key] = form
	return !known
}

// writeEvent writes an Event of a Provider or an Alert that says why; none where there is nothing to say.
func (o *Outlet) writeEvent(ctx context.Context, key objectKey, cr object.Object, reason, why string) {
	if why == "" {
		return
	}
	o.Log.Warn("notifications", "kind", key.kind, "name", key.String(), "error", why)
	res, err := o.Cluster.Resource(object.GVK{Group: "events.k8s.io", Version: "v1", Kind: "Event"})
	if err != nil {
		return
	}
	ev := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": map[string]any{"generateName": key.Name + "-", "namespace": key.Namespace},
		"eventTime": time.Now().UTC().Format(metav1.RFC3339Micro), "type": "Warning", "reason": reason, "note": why[:min(len(why), 1000)], "action": "Notify",
		"reportingController": "truce", "reportingInstance": "truce-controller",
		"regarding": map[string]any{"apiVersion": cr.APIVersion(), "kind": key.kind, "name": key.Name, "namespace": key.Namespace, "uid": cr.UID()},
	}}
	_, err = o.Cluster.Dynamic().Resource(res.GVR).Namespace(key.Namespace).Create(ctx, ev, metav1.CreateOptions{FieldManager: statusManager})
	if err != nil && ctx.Err() == nil {
		o.Log.Warn("event", "about", key.String(), "error", err.Error())
	}
}
