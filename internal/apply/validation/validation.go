// Package validation answers: would the API server accept the objects that Git describes?
//
// In: objects, and the access of their app.
// Out: an error for each object that would be refused, in the order of the objects; nil for the others.
// Promise: nothing is written.
// Not here: which of the checks an app asks for (dialect), the schemas themselves (render/validate).
package validation

import (
	"context"
	"errors"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/validate"
	"golang.org/x/sync/errgroup"
)

// Schemas checks objects by the schemas that the server publishes for everyone.
type Schemas struct{ Checker validate.Checker }

// Check implements reconcile.Checker.
func (p Schemas) Check(ctx context.Context, _ tenancy.Access, all []desired.Object) []error {
	return p.Checker.Check(ctx, all)
}

// DryRun checks objects by dry runs: admission and the kind's own code are asked too.
type DryRun struct{}

// Check implements reconcile.Checker. An object whose kind or namespace is not there passes: they may come with the same
// revision, and the apply fails if they do not.
func (DryRun) Check(ctx context.Context, as tenancy.Access, all []desired.Object) []error {
	absent := absentNamespaces(ctx, as.Live, all)
	out := make([]error, len(all))
	inParallel(len(all), func(i int) {
		if !absent[all[i].ID.Namespace] {
			out[i] = dryRunApply(ctx, as.Writer, all[i])
		}
	})
	return out
}

// absentNamespaces asks once for each namespace of the objects. One that could not be read counts as there: the right to write in it is enough.
func absentNamespaces(ctx context.Context, r live.Reader, all []desired.Object) map[string]bool {
	var names []string
	for _, o := range all {
		if o.ID.Namespace != "" {
			names = append(names, o.ID.Namespace)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	absent := make([]bool, len(names))
	inParallel(len(names), func(i int) {
		_, err := r.Get(ctx, object.GVK{Version: "v1", Kind: "Namespace"}, object.ID{Kind: "Namespace", Name: names[i]})
		absent[i] = errors.Is(err, live.ErrNotFound)
	})
	out := map[string]bool{}
	for i, name := range names {
		out[name] = absent[i]
	}
	return out
}

func dryRunApply(ctx context.Context, w apply.Writer, o desired.Object) error {
	_, err := w.Apply(ctx, apply.Apply{
		Target: apply.Target{GVK: o.GVK, ID: o.ID}, Body: o.Data, Manager: ownership.Manager, Force: apply.Take, DryRun: apply.Simulate,
	})
	if errors.Is(err, live.ErrUnknownKind) {
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
