package controller

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// chartOwner is a dialect of apps for which another controller makes sources, which it would delete with the app.
type chartOwner interface {
	// HasMade reports whether a source was made for the app of a custom resource.
	HasMade(cr, source object.Object) bool
}

// deleteLeftCharts deletes the sources that another controller made for an app before truce worked on it: that controller would delete them with the app.
func (c *Controller) deleteLeftCharts(ctx context.Context, e appEntry) error {
	of, ok := e.front.(chartOwner)
	if !ok || e.app.Suspended || e.app.Policy.Mode != policy.Enforce {
		return nil
	}
	c.mu.RLock()
	var left []object.Object
	for _, s := range c.sourceSet {
		if s.cr != nil && s.cr.At("metadata", "deletionTimestamp") == nil && of.HasMade(e.cr, s.cr) {
			left = append(left, s.cr)
		}
	}
	c.mu.RUnlock()
	for _, cr := range left {
		if err := c.deleteMade(ctx, cr); err != nil && !apierrors.IsForbidden(err) {
			return fmt.Errorf("delete %s %s/%s, which was made for %s: %w", cr.GVK().Kind, cr.Namespace(), cr.Name(), e.app.Key, err)
		}
	}
	return nil
}
