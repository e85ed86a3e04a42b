package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// ensureFinalizer is needed only where there is something to clean up. What is handed back needs none of truce's any more.
func (c *Controller) ensureFinalizer(ctx context.Context, e appEntry) error {
	have := e.cr.Finalizers()
	if e.app.Adoption.Mode == policy.HandBack && slices.Contains(have, e.app.OwnFinalizer) {
		return c.patchFinalizers(ctx, e.cr, slices.DeleteFunc(have, func(name string) bool { return name == e.app.OwnFinalizer }))
	}
	if e.app.GuardFinalizer == "" || e.app.Policy.Mode != policy.Enforce || len(e.app.Problems) > 0 || slices.Contains(have, e.app.GuardFinalizer) {
		return nil
	}
	if err := c.patchFinalizers(ctx, e.cr, append(have, e.app.GuardFinalizer)); err != nil {
		return fmt.Errorf("write the finalizer %s: %w", e.app.GuardFinalizer, err)
	}
	return nil
}

// removeFinalizers takes finalizers off an app's custom resource, where there are such.
func (c *Controller) removeFinalizers(ctx context.Context, e appEntry, which func(string) bool) time.Duration {
	have := e.cr.Finalizers()
	if !slices.ContainsFunc(have, which) {
		return 0
	}
	err := c.patchFinalizers(ctx, e.cr, slices.DeleteFunc(have, which))
	again := c.retryNote(e, err)
	if again == retryObject && e.app.Policy.Mode == policy.Enforce {
		c.reportStuckDeletion(ctx, e, fmt.Errorf("remove the finalizers: %w", err))
	}
	return again
}

func (c *Controller) patchFinalizers(ctx context.Context, cr object.Object, list []string) error {
	return asGoneAnswer(c.patch(ctx, cr.GVK(), cr, "", []operation{
		{"replace", "/metadata/resourceVersion", cr.ResourceVersion()}, {"add", "/metadata/finalizers", list},
	}))
}

// storageWait is how long another controller has to clean its storage of a source that is being deleted, before truce lets the source go: one that
// works takes milliseconds.
const storageWait = 5 * time.Second

// releaseDeleted takes the finalizer of another controller off the custom resource of a source that is being deleted: Flux's controllers put one on
// each source, and where they do not run any more, it would stay for ever. truce keeps nothing that has to be cleaned. Other revisions and charts of the source
// have no custom resource.
func (c *Controller) releaseDeleted(ctx context.Context, key app.SourceKey, cr object.Object, s dialect.Source) time.Duration {
	have := cr.Finalizers()
	if key != s.Key || !slices.Contains(have, s.Finalizer) {
		return 0
	}
	c.mu.RLock()
	isOther := c.isWrittenByOther(s.Key, cr)
	c.mu.RUnlock()
	if isOther {
		return 0
	}
	since, err := time.Parse(time.RFC3339, cr.StringAt("metadata", "deletionTimestamp"))
	if wait := time.Until(since.Add(storageWait)); err == nil && wait > 0 {
		return wait
	}
	err = c.patchFinalizers(ctx, cr, slices.DeleteFunc(have, func(name string) bool { return name == s.Finalizer }))
	switch {
	case err == nil || errors.Is(err, errGone):
		return 0
	case apierrors.IsConflict(err): // the watch is about to report what it has become
		return time.Second
	}
	c.Log.Warn("finalizer", "source", s.Key.String(), "error", err.Error())
	return retrySource
}
