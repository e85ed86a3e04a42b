package wire

import (
	"context"
	"errors"

	"github.com/truce-gitops/truce/internal/act"
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/desired"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/validate"
	"github.com/truce-gitops/truce/internal/validate/openapi"
)

// checkers are what spec.validation of a Kustomization names.
func checkers(c *cluster.Client, r live.Reader, w act.Writer) map[app.Validation]reconcile.Checker {
	return map[app.Validation]reconcile.Checker{
		app.ValidateClient: validate.Checker{Schemas: &openapi.Schemas{Cluster: c}},
		app.ValidateServer: rehearsal{reader: r, writer: w},
	}
}

// rehearsal checks an object by a dry run: admission and the kind's own code are asked too.
type rehearsal struct {
	reader live.Reader
	writer act.Writer
}

// Check implements reconcile.Checker. An object whose kind or namespace is not there passes: they may come with the same
// revision, and the apply tells if they do not.
func (r rehearsal) Check(ctx context.Context, o desired.Object) error {
	if o.ID.Namespace != "" {
		_, err := r.reader.Get(ctx, object.GVK{Version: "v1", Kind: "Namespace"}, object.ID{Kind: "Namespace", Name: o.ID.Namespace})
		if errors.Is(err, live.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	_, err := r.writer.Apply(ctx, act.Apply{
		Target: act.Target{GVK: o.GVK, ID: o.ID}, Body: o.Data, Manager: ownership.Manager, Force: act.Take, DryRun: act.Simulate,
	})
	if errors.Is(err, cluster.ErrUnknownKind) {
		return nil
	}
	return err
}
