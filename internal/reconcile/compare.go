package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// compare gathers, as values, all that the pure packages may know, and finds the fields that differ.
func (w *objectReconcile) compare(ctx context.Context) error {
	in, decided, err := w.gather(ctx)
	if errors.Is(err, apply.ErrStale) {
		w.reread()
		return errRepeat
	}
	if err != nil {
		return err
	}
	w.input = decided
	w.input.Compared, err = compare.CompareObject(in)
	return err
}

// gather brings together, as values, everything that the judges may know.
func (w *objectReconcile) gather(ctx context.Context) (compare.Input, decide.Input, error) {
	ignored, err := w.covered(ctx)
	if err != nil {
		return compare.Input{}, decide.Input{}, err
	}
	claims, count, err := w.findClaims(ctx)
	if err != nil {
		return compare.Input{}, decide.Input{}, err
	}
	w.snap.memory = w.withLastCounts(w.snap.memory, claims)
	in := decide.Input{
		Desired: w.snap.desired, Previous: w.snap.previous, Live: w.live, Expired: isExpired(w.snap.expires, w.engine.Now()), Owners: w.owners, Changed: w.snap.state.isChanged(),
		Claims: claims, Count: count, CountHidden: w.countHidden, Ignored: ignored, Prerequisite: w.missing,
		Memory: w.snap.memory, Request: w.snap.request, Policy: w.app.Policy, Adoption: w.app.Adoption, Switches: w.engine.Switches, Hasher: w.engine.Hasher, Now: w.engine.Now(),
		Failure: w.failure(), Open: w.snap.open, Arrived: w.arrived,
		Deployed: w.snap.isUnrecorded(), Treatment: w.treatment, Adopted: w.snap.adoption != "" && w.snap.adoption == w.app.Adoption.ID(),
	}
	if in.Deployed {
		in.Previous = w.withoutMarks()
	}
	if in.IsOptedOut() {
		return compare.Input{Desired: in.Desired, Live: in.Live, Owners: in.Owners, Hasher: in.Hasher}, in, nil
	}
	ceded := in.CededPaths()
	base, err := w.baseline(ctx, in)
	if errors.Is(err, apply.ErrForbidden) && w.app.Policy.Mode == policy.Observe || err != nil && w.refusedWhilePaused(err) {
		err = w.unasked(err)
	}
	if err != nil {
		return compare.Input{}, in, err
	}
	in.Changed = w.snap.state.isChanged()
	if base.Mutated() {
		in.Mutators, in.Catalogue = w.mutators(ctx), w.engine.Catalogue()
	}
	in.Changed, in.Past, w.claims = w.snap.state.isChanged(), w.past(), claims
	if w.added, err = w.additions(ctx, base, in); err != nil {
		return compare.Input{}, in, err
	}
	return compare.Input{
		Desired: in.Desired, Live: in.Live, Owners: in.Owners, Baseline: base, Hasher: in.Hasher, Added: w.added,
		Withheld: ceded, Released: without(w.snap.withheld, ceded),
		Past: in.Past, WithoutBaseline: w.noDryRun, Native: desired.IsBuiltInGroup(w.snap.gvk.Group),
	}, in, nil
}

// withoutMarks is Git's object as others have released it.
func (w *objectReconcile) withoutMarks() object.Object {
	out, marks := w.snap.desired.Clone(), marksOf(w.app)
	field.RemoveValue(out, field.NewPath("metadata", "labels", object.PartOf))
	for name := range marks.Labels {
		field.RemoveValue(out, field.NewPath("metadata", "labels", name))
	}
	for name := range marks.Annotations {
		field.RemoveValue(out, field.NewPath("metadata", "annotations", name))
	}
	return out
}

func without(list, drop []field.Path) []field.Path {
	var out []field.Path
	for _, p := range list {
		if !slices.ContainsFunc(drop, p.Equals) {
			out = append(out, p)
		}
	}
	return out
}

// baseline returns what the server makes of Git's object: remembered from our last apply; else live itself, where that
// plainly is as Git wants; else the answer to a dry run. A changed object that will be applied anyway needs none.
func (w *objectReconcile) baseline(ctx context.Context, in decide.Input) (compare.Baseline, error) {
	if w.live != nil && w.snap.baseline.Doubted() {
		return w.retake(ctx, in)
	}
	if w.live == nil || w.snap.baseline.Known() && !w.outdated() {
		return w.snap.baseline, nil
	}
	if w.snap.noDryRun != "" && w.app.Policy.Mode == policy.Observe {
		return compare.Baseline{}, apply.ErrForbidden
	}
	body := in.WithoutCeded(w.snap.desired)
	if compare.MatchesDesired(body, w.live, w.owners) {
		w.snap.state.foundApplied() // it was applied before, by a truce of which nothing but this is left
		b := compare.NewBaseline(w.live, w.owners, w.engine.Hasher).WithRests(w.result(in, body, w.live, w.owners), w.engine.Hasher)
		w.keep(b)
		return b, nil
	}
	if w.snap.state.isChanged() && w.app.Policy.Mode == policy.Enforce && !w.snap.isUnrecorded() {
		return compare.Baseline{}, nil
	}
	return w.predict(ctx, in, body)
}

// unasked remembers that the server refuses dry runs of the object: then the fields that Git names are compared without one.
func (w *objectReconcile) unasked(why error) error {
	w.noDryRun = true
	w.managed.mu.Lock()
	defer w.managed.mu.Unlock()
	if w.managed.noDryRun == "" {
		w.managed.noDryRun = redact.MaskText(why.Error())
	}
	return nil
}

// outdated reports whether the baseline is that of another revision than the one to compare with: where nothing is written, none is
// ever taken by an apply.
func (w *objectReconcile) outdated() bool {
	return w.snap.state.phase == unapplied && w.app.Policy.Mode != policy.Enforce
}

func (w *objectReconcile) predict(ctx context.Context, in decide.Input, body object.Object) (compare.Baseline, error) {
	predicted, err := w.access.Writer.Apply(ctx, apply.Apply{
		Target: apply.Target{GVK: w.snap.gvk, ID: w.managed.id, UID: w.live.UID(), ResourceVersion: w.live.ResourceVersion()},
		Body:   body, Manager: ownership.Manager, Force: apply.Take, DryRun: apply.Simulate,
	})
	if err != nil {
		return compare.Baseline{}, fmt.Errorf("dry run: %w", err)
	}
	owners, err := w.engine.shapes.Owners(predicted, w.snap.baseline)
	if err != nil {
		return compare.Baseline{}, err
	}
	b := w.answered(in, body, predicted, owners)
	w.keep(b)
	return b, nil
}

func (w *objectReconcile) keep(b compare.Baseline) {
	w.managed.mu.Lock()
	defer w.managed.mu.Unlock()
	w.rebased = w.rebased || w.snap.baseline.Known()
	w.managed.baseline = b
	w.managed.state.predict(w.snap.state.isChanged() && w.managed.sum == w.snap.sum)
}
