package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// ensureFinalizer is needed only where there is something to clean up. What is handed back needs none of truce's any more.
func (c *Controller) ensureFinalizer(ctx context.Context, e appEntry) error {
	have := finalizers(e.cr)
	if e.app.Adoption.Mode == app.HandBack && slices.Contains(have, e.app.OwnFinalizer) {
		return c.patchFinalizers(ctx, e, slices.DeleteFunc(have, func(name string) bool { return name == e.app.OwnFinalizer }))
	}
	if e.app.GuardFinalizer == "" || e.app.Policy.Mode != app.Enforce || len(e.app.Problems) > 0 || slices.Contains(have, e.app.GuardFinalizer) {
		return nil
	}
	return c.patchFinalizers(ctx, e, append(have, e.app.GuardFinalizer))
}

func finalizers(o object.Object) []string {
	list, _ := o.At("metadata", "finalizers").([]any)
	out := make([]string, 0, len(list))
	for _, f := range list {
		if s, ok := f.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// removeFinalizers takes finalizers off an app's custom resource, where there are such.
func (c *Controller) removeFinalizers(ctx context.Context, e appEntry, which func(string) bool) time.Duration {
	have := finalizers(e.cr)
	if !slices.ContainsFunc(have, which) {
		return 0
	}
	return c.retryNote(e, c.patchFinalizers(ctx, e, slices.DeleteFunc(have, which)))
}

func (c *Controller) patchFinalizers(ctx context.Context, e appEntry, list []string) error {
	return asGoneAnswer(c.patch(ctx, e.gvk, e.cr, "", []operation{
		{"replace", "/metadata/resourceVersion", e.cr.ResourceVersion()}, {"add", "/metadata/finalizers", list},
	}))
}

// storageWait is how long another controller has to clean its storage of a source that is being deleted, before truce lets the source go: one that
// works takes milliseconds.
const storageWait = 5 * time.Second

// releaseDeleted takes the finalizer of another controller off the custom resource of a source that is being deleted: Flux's controllers put one on
// each source, and where they do not run any more, it would stay for ever. truce keeps nothing that has to be cleaned.
func (c *Controller) releaseDeleted(ctx context.Context, cr object.Object, s dialect.Source) time.Duration {
	list, _ := cr.At("metadata", "finalizers").([]any)
	left := slices.DeleteFunc(slices.Clone(list), func(v any) bool { return v == s.Finalizer })
	c.mu.RLock()
	isOther := c.isWrittenByOther(s.Key, cr)
	c.mu.RUnlock()
	if isOther || len(left) == len(list) {
		return 0
	}
	since, err := time.Parse(time.RFC3339, cr.StringAt("metadata", "deletionTimestamp"))
	if wait := time.Until(since.Add(storageWait)); err == nil && wait > 0 {
		return wait
	}
	err = asGoneAnswer(c.patch(ctx, cr.GVK(), cr, "", []operation{
		{"replace", "/metadata/resourceVersion", cr.ResourceVersion()}, {"add", "/metadata/finalizers", left},
	}))
	switch {
	case err == nil || errors.Is(err, errGone):
		return 0
	case apierrors.IsConflict(err): // the watch is about to report what it has become
		return time.Second
	}
	c.Log.Warn("finalizer", "source", s.Key.String(), "error", err.Error())
	return retrySource
}
