package notices

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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

// statusRetry is the pause before a status or an Event is written again that could not be.
const statusRetry = 30 * time.Second

// writeStatuses writes the statuses of Providers and Alerts until ctx ends.
func (o *Outlet) writeStatuses(ctx context.Context) {
	var again <-chan time.Time
	failed := map[objectKey]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.dirty:
		case <-again:
			again = nil
		}
		todo := o.takeChangedStatuses()
		if again == nil {
			maps.Copy(todo, failed)
			clear(failed)
		}
		for key := range todo {
			o.guard("status", func() {
				if err := o.writeStatus(ctx, key); err != nil && ctx.Err() == nil {
					o.Log.Warn("status", "kind", key.kind, "name", key.String(), "error", err.Error(), "again", o.statusPause.String())
					failed[key] = true
				}
			})
		}
		if len(failed) > 0 && again == nil {
			again = time.After(o.statusPause)
		}
	}
}

// takeChangedStatuses returns what has a status that is to be written now.
func (o *Outlet) takeChangedStatuses() map[objectKey]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.changed
	o.changed = map[objectKey]bool{}
	return changed
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

// writeStatus writes the status of a Provider or an Alert, and an Event of what is wrong with it, where they are not written yet.
func (o *Outlet) writeStatus(ctx context.Context, key objectKey) error {
	if key == o.subscribers.configKey() {
		if cr, s := o.subscribers.state(); cr != nil {
			return o.warn(ctx, key, cr, s)
		}
		return nil
	}
	cr, s := o.state(key)
	if cr == nil {
		return nil
	}
	next := o.Dialect.Status(cr, s)
	had, _ := cr.At("status").(map[string]any)
	written := field.EqualValues(next, had)
	if written && !o.isUnsaid(key) {
		return nil
	}
	warned := o.warn(ctx, key, cr, s)
	if written {
		return warned
	}
	body, err := json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": next}})
	if err != nil {
		return err
	}
	res, err := o.Cluster.Resource(cr.GVK())
	if err == nil {
		_, err = o.Cluster.Dynamic().Resource(res.GVR).Namespace(key.Namespace).Patch(ctx, key.Name, types.JSONPatchType, body, metav1.PatchOptions{FieldManager: statusManager}, "status")
	}
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // it is gone, its definition is Flux's, which has no status, or truce only observes
		err = nil
	}
	return errors.Join(warned, err)
}

// warn writes Events when a Provider or an Alert begins to fail, or to hold what is ignored: the definitions of Flux have no status.
func (o *Outlet) warn(ctx context.Context, key objectKey, cr object.Object, s route.State) error {
	failing, ignored := s.Failing, ""
	for _, p := range s.Problems {
		failing += p.String() + "; "
	}
	for _, p := range s.Ignored {
		ignored += p.String() + "; "
	}
	if !o.isNewFault(key, failing+ignored) {
		return nil
	}
	err := errors.Join(o.writeEvent(ctx, key, cr, "NotificationFailed", failing), o.writeEvent(ctx, key, cr, "InvalidConfig", ignored))
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.wrote[key] = unsaid
	}
	return err
}

// unsaid stands for a fault of which an Event could not be written.
const unsaid = "\x00"

// isUnsaid reports whether the newest Event of a Provider or an Alert could not be written.
func (o *Outlet) isUnsaid(key objectKey) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.wrote[key] == unsaid
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
func (o *Outlet) writeEvent(ctx context.Context, key objectKey, cr object.Object, reason, why string) error {
	if why == "" {
		return nil
	}
	o.Log.Warn("notifications", "kind", key.kind, "name", key.String(), "error", why)
	res, err := o.Cluster.Resource(object.GVK{Group: "events.k8s.io", Version: "v1", Kind: "Event"})
	if err != nil {
		return err
	}
	ev := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": map[string]any{"generateName": key.Name + "-", "namespace": key.Namespace},
		"eventTime": time.Now().UTC().Format(metav1.RFC3339Micro), "type": "Warning", "reason": reason, "note": why[:min(len(why), 1000)], "action": "Notify",
		"reportingController": "truce", "reportingInstance": "truce-controller",
		"regarding": map[string]any{"apiVersion": cr.APIVersion(), "kind": key.kind, "name": key.Name, "namespace": key.Namespace, "uid": cr.UID()},
	}}
	_, err = o.Cluster.Dynamic().Resource(res.GVR).Namespace(key.Namespace).Create(ctx, ev, metav1.CreateOptions{FieldManager: statusManager})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) { // truce may not, or the namespace ends
		o.Log.Warn("event", "about", key.String(), "error", err.Error())
		return nil
	}
	return err
}
