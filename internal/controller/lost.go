package controller

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// endRelease ends the release of an app, once its run has handed all objects back: truce's conditions go before what says that they are truce's.
func (c *Controller) endRelease(ctx context.Context, e appEntry, r report.Report) time.Duration {
	if e.app.Adoption.Mode != policy.HandBack || r.Stage != report.Done {
		return 0
	}
	if wait := c.observe(ctx, e); wait > 0 {
		return wait
	}
	c.removeOwnMarks(ctx, e)
	return 0
}

// removeOwnMarks takes truce's switch off an app of which nothing is truce's any more: from now on the app is observed like any other. What fails is
// done by the next run.
func (c *Controller) removeOwnMarks(ctx context.Context, e appEntry) {
	change := operation{Op: "replace", Path: pointerText(field.Pointer{"metadata", "annotations", modeKey}), Value: string(policy.Observe)}
	if c.Process.Mode == policy.Observe {
		change = operation{Op: "remove", Path: change.Path}
	}
	if mode, _ := e.cr.Annotation(modeKey); mode != string(policy.Release) {
		return
	}
	err := asGoneAnswer(c.patch(ctx, e.gvk, e.cr, "", []operation{{"test", change.Path, string(policy.Release)}, change}))
	if err != nil && !errors.Is(err, errGone) && !apierrors.IsInvalid(err) { // invalid: another mode was set meanwhile
		c.Log.Warn("release", "app", e.app.Key.String(), "error", err.Error())
	}
}

// lostKey is the annotation that ends an adoption because the other controller works again (reader). It outlives this process.
const lostKey = "truce.dev/adoption-lost"

// observer is a dialect that says one thing in a status that another controller writes: that it works on an adopted app again.
type observer interface {
	// Observed returns the conditions as they are to be, and false where they are so already.
	Observed(cr object.Object, a app.App, now time.Time) (conditions []any, changed bool)
}

// writeLost writes down on the app's custom resource that its adoption has ended.
func (c *Controller) writeLost(ctx context.Context, e appEntry, why string) time.Duration {
	err := asGoneAnswer(c.patch(ctx, e.gvk, e.cr, "", []operation{
		{"replace", "/metadata/resourceVersion", e.cr.ResourceVersion()},
		{"add", pointerText(field.Pointer{"metadata", "annotations", lostKey}), why},
	}))
	return c.retryNote(e, err)
}

// observe keeps the one condition of truce's in the status of an app that another controller writes, and reports it once.
func (c *Controller) observe(ctx context.Context, e appEntry) time.Duration {
	dialect, ok := e.front.(observer)
	if !ok {
		return 0
	}
	list, changed := dialect.Observed(e.cr, e.app, time.Now())
	if !changed {
		return 0
	}
	err := asGoneAnswer(c.patchConditions(ctx, e, list))
	if err == nil && e.app.Adoption.Lost != "" {
		news := []notify.Event{{Severity: notify.Error, Reason: "AdoptionLost", Text: e.app.Adoption.Lost}}
		if c.isNew(e.app.Key, messageKey(news)) {
			c.emit(e.app.Key, news[0])
		}
	}
	return c.retryNote(e, err)
}

// patchConditions writes the conditions of a status and nothing else, if nothing was written meanwhile.
func (c *Controller) patchConditions(ctx context.Context, e appEntry, list []any) error {
	ops := []operation{{"replace", "/metadata/resourceVersion", e.cr.ResourceVersion()}, {"add", "/status/conditions", list}}
	if _, there := e.cr["status"].(map[string]any); !there {
		ops[1] = operation{"add", "/status", map[string]any{"conditions": list}}
	}
	if !c.isWhole(e.gvk) {
		if _, err := c.patchAs(ctx, reader.ObserverManager, patched{e.gvk, e.cr, "status"}, ops); !c.lacksSubresource(e.gvk, err) {
			return err
		}
	}
	_, err := c.patchAs(ctx, reader.ObserverManager, patched{e.gvk, e.cr, ""}, ops)
	return err
}

// retryNote is the pause after which a write to a custom resource is tried again; 0 where it went through.
func (c *Controller) retryNote(e appEntry, err error) time.Duration {
	switch {
	case err == nil:
		return 0
	case apierrors.IsConflict(err):
		return c.conflicts.When(e.app.Key) // the watch is about to bring the newer form
	case errors.Is(err, errGone):
		return retryGone
	}
	c.Log.Warn("status", "app", e.app.Key.String(), "error", err.Error())
	return retryObject
}
