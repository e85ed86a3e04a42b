package controller

import (
	"context"
	"errors"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

// sourceSpec says what to fetch for a source.
func (c *Controller) sourceSpec(ctx context.Context, f dialect.Sources, cr object.Object, s dialect.Source) (source.Spec, error) {
	if len(s.Problems) > 0 {
		why := errors.New(s.Problems[0].Field + ": " + s.Problems[0].Reason)
		return source.Spec{}, &source.Error{Op: "read", Subject: s.Key.String(), Reason: source.URLInvalid, Err: why}
	}
	secret, name, err := Credentials(ctx, c.Cluster, s)
	if err != nil {
		return source.Spec{}, err
	}
	spec, err := f.Spec(cr, secret)
	spec = pinnedSpec(spec, s.Key)
	spec.Auth.Secret = name
	return spec, err
}

// Related implements reconcile.Histories.
func (c *Controller) Related(ctx context.Context, key app.SourceKey, was, is string) (bool, error) {
	f, cr := c.sourceResource(key)
	if cr == nil || c.Ancestry == nil {
		return true, nil
	}
	s := f.Source(cr)
	s.Key = key
	spec, err := c.sourceSpec(ctx, f, cr, s)
	if err != nil {
		return true, err
	}
	return c.Ancestry.Related(ctx, spec, was, is)
}
