package compose

import (
	"context"
	"errors"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/reconcile"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/validate"
	"github.com/truce-gitops/truce/internal/render/validate/openapi"
	"golang.org/x/sync/errgroup"
)

// checkers are what spec.validation of a Kustomization names.
func checkers(c *cluster.Client) map[app.Validation]reconcile.Checker {
	return map[app.Validation]reconcile.Checker{
		app.ValidateClient: published{validate.Checker{Schemas: &openapi.Schemas{Cluster: c}}},
		app.ValidateServer: rehearsal{},
	}
}

// published checks objects by the schemas that the server publishes for everyone.
type published struct{ checker validate.Checker }

// Check implements reconcile.Checker.
func (p published) Check(ctx context.Context, _ tenancy.Access, all []desired.Object) []error {
	return p.checker.Check(ctx, all)
}

// rehearsal checks objects by dry runs: admission and the kind's own code are asked too.
type rehearsal struct{}

// Check implements reconcile.Checker. An object whose kind or namespace is not there passes: they may come with the same
// revision, and the apply tells if they do not.
func (rehearsal) Check(ctx context.Context, as tenancy.Access, all []desired.Object) []error {
	absent := namespacesOf(ctx, as.Live, all)
	out := make([]error, len(all))
	inParallel(len(all), func(i int) {
		switch err := absent[all[i].ID.Namespace]; {
		case errors.Is(err, live.ErrNotFound):
		case err != nil:
			out[i] = err
		default:
			out[i] = rehearse(ctx, as.Writer, all[i])
		}
	})
	return out
}

// namespacesOf asks once for each namespace of the objects, and returns the error of each that could not be read.
func namespacesOf(ctx context.Context, r live.Reader, all []desired.Object) map[string]error {
	var names []string
	for _, o := range all {
		if o.ID.Namespace != "" {
			names = append(names, o.ID.Namespace)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	failures := make([]error, len(names))
	inParallel(len(names), func(i int) {
		_, failures[i] = r.Get(ctx, object.GVK{Version: "v1", Kind: "Namespace"}, object.ID{Kind: "Namespace", Name: names[i]})
	})
	out := map[string]error{}
	for i, err := range failures {
		if err != nil {
			out[names[i]] = err
		}
	}
	return out
}

func rehearse(ctx context.Context, w apply.Writer, o desired.Object) error {
	_, err := w.Apply(ctx, apply.Apply{
		Target: apply.Target{GVK: o.GVK, ID: o.ID}, Body: o.Data, Manager: ownership.Manager, Force: apply.Take, DryRun: apply.Simulate,
	})
	if errors.Is(err, cluster.ErrUnknownKind) {
		return nil
	}
	return err
}

// inParallel calls do with each number below n, some of them at once, and returns when all calls have.
func inParallel(n int, do func(i int)) {
	const atOnce = 8
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range n {
		g.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
}
