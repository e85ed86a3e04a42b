package controller

import (
	"context"
	"encoding/json"
	"time"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/health"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/report"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// statusManager is the field manager of everything that is written to custom resources.
const statusManager = "truce-controller"

// status writes an app's status if it is not the one that is there.
func (c *Controller) status(ctx context.Context, key app.Key) time.Duration {
	e, ok := c.entry(key)
	if !ok || e.app.Policy.Mode == app.Observe { // the status is that of the controller which truce only watches
		return 0
	}
	r := c.engine.Report(key)
	r.Seen = c.Now()
	if wait := premature(e, r); wait > 0 {
		return wait
	}
	next := object.Object(e.front.Status(e.cr, r))
	switch err := c.answer(ctx, e, next, e.front.Answered(e.cr, r)); {
	case apierrors.IsConflict(err):
		return retryConflict // the watch is about to bring the newer form
	case err != nil:
		c.Log.Warn("status", "app", key.String(), "error", err.Error())
		return time.Second
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.appSet[key]; now != nil {
		now.wrote, now.told = digestOf(next), r.Seen
	}
	return untilVerdict(e.app, r)
}

// progressPause spaces statuses that say no more than that something is still under way. Most runs are over before the first.
const progressPause = 3 * time.Second

// premature is how long a status should wait for more to come of what is under way: a run, or objects that become healthy.
func premature(e appEntry, r report.Report) time.Duration {
	since := e.begun
	if since.IsZero() {
		h := r.Health().Code
		if e.app.Wait != app.WaitHealthy || r.Stage != report.Done || h == health.Healthy || h == health.Degraded || h == health.Suspended {
			return 0
		}
		since = r.At
	}
	if since.Before(e.told) {
		since = e.told
	}
	return since.Add(progressPause).Sub(r.Seen)
}

// untilVerdict is how long an app that waits for health may still take: then its status must say that it took too long.
func untilVerdict(a app.App, r report.Report) time.Duration {
	if a.Wait != app.WaitHealthy || r.Stage != report.Done {
		return 0
	}
	if left := r.At.Add(a.Timeout).Sub(r.Seen); left > 0 {
		return left + time.Millisecond
	}
	return 0
}

func (c *Controller) writeSourceStatus(ctx context.Context, key app.SourceKey) {
	c.mu.RLock()
	known := c.sourceSet[key]
	if known == nil || known.attached {
		c.mu.RUnlock()
		return
	}
	e := *known // the watch writes to known meanwhile
	c.mu.RUnlock()
	next := object.Object(e.front.Status(e.cr, e.state))
	if err := gone(c.patchStatus(ctx, e.cr.GVK(), e.cr, e.wrote, next)); err != nil {
		c.Log.Warn("status", "source", key.String(), "error", err.Error())
		return
	}
	c.mu.Lock()
	known.wrote = digestOf(next)
	c.mu.Unlock()
}

// patchStatus replaces .status, unless it is as it should be already.
func (c *Controller) patchStatus(ctx context.Context, gvk object.GVK, cr object.Object, wrote digest, next object.Object) error {
	have, _ := cr.At("status").(map[string]any)
	if field.Equal(map[string]any(next), have) || wrote == digestOf(next) {
		return nil
	}
	return c.patch(ctx, gvk, cr, "status", []operation{{"add", "/status", next}})
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func (c *Controller) patchFinalizers(ctx context.Context, e appEntry, list []string) error {
	return gone(c.patch(ctx, e.gvk, e.cr, "", []operation{
		{"replace", "/metadata/resourceVersion", e.cr.ResourceVersion()}, {"add", "/metadata/finalizers", list},
	}))
}

func (c *Controller) patch(ctx context.Context, gvk object.GVK, cr object.Object, sub string, ops []operation) error {
	body, err := json.Marshal(ops)
	if err != nil {
		return err
	}
	r, err := c.resource(gvk, cr.Namespace())
	if err != nil {
		return err
	}
	subs := []string{}
	if sub != "" {
		subs = append(subs, sub)
	}
	_, err = r.Patch(ctx, cr.Name(), types.JSONPatchType, body, metav1.PatchOptions{FieldManager: statusManager}, subs...)
	return err
}

func (c *Controller) resource(gvk object.GVK, namespace string) (dynamic.ResourceInterface, error) {
	res, err := c.Cluster.Resource(gvk)
	if err != nil {
		return nil, err
	}
	return c.Cluster.Dynamic().Resource(res.GVR).Namespace(namespace), nil
}

// event tells of drift on the app's custom resource, as a Kubernetes Event.
func (c *Controller) event(n reconcile.Notice) {
	kind, reason := "Normal", "DriftDetected"
	switch {
	case n.Carried:
		reason = "DriftCorrected"
	case n.Finding.Verdict == decide.Cede:
		reason = "FieldCeded"
	case n.Finding.Verdict == decide.Hold:
		kind = "Warning"
	case n.Finding.Verdict == decide.Contested:
		kind, reason = "Warning", "FieldContested"
	}
	c.emit(n.App, kind, reason, report.Sentence(n.ID, n.Finding))
}
