package reconcile

import (
	"context"
	"errors"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/addition"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// additions returns the fields that others have added and that Git does not name. Until truce has applied the object they are looked for
// whatever the policy is: what was there before us is never taken away.
func (w *objectReconcile) additions(ctx context.Context, base compare.Baseline, in decide.Input) ([]compare.Addition, error) {
	ours := w.ours()
	if w.live == nil || ours && in.Policy.Additions == policy.AdditionsAllow {
		return nil, nil
	}
	settled, err := base.Fields(w.owners)
	if err != nil {
		return nil, err
	}
	about := addition.Input{
		Desired: in.Desired, Live: in.Live, Owners: in.Owners, Catalogue: w.engine.Catalogue(), Claims: in.Claims, Settled: settled,
	}
	if in.Policy.Claims == policy.ClaimsOff {
		about.Claims = nil
	}
	found, err := w.try(ctx, slices.DeleteFunc(addition.FindAdditions(about), w.adopted))
	for i := range found {
		w.date(&found[i], ours)
	}
	return found, err
}

// ours reports whether we have applied the object. Its uid alone may be known from the list of the controller that it was adopted from.
func (w *objectReconcile) ours() bool {
	return w.live != nil && w.snap.appliedUID == w.live.UID() && w.bearsOurMark()
}

// adopted reports whether what looks like a removal that was cut short is what an adoption made ours: we have never applied the object.
func (w *objectReconcile) adopted(a compare.Addition) bool {
	return len(a.Held) == 0 && !w.bearsOurMark()
}

// date marks an addition to be kept that was there before truce, or that may have been.
func (w *objectReconcile) date(a *compare.Addition, ours bool) {
	if len(a.Held) == 0 {
		if by, ok := w.taken[field.PathString(a.Path)]; ok {
			a.Writer = by
		}
		return
	}
	if a.Kept != "" || ours && !w.snap.found {
		return
	}
	given := w.snap.memory.PreexistingPaths()
	switch {
	case !w.bearsOurMark(), slices.Contains(given, field.PathString(a.Path)):
		a.Kept = "it was there before truce took the object over"
	case len(given) == 0:
		a.Kept = "it may have been there before truce took the object over"
	}
}

// additionProbe is what the server said of an object's additions: which of them it would put there by itself, and which it would not let go.
type additionProbe struct {
	of   uint64 // hash of the additions, their values and what Git wants
	keep map[string]string
}

// maxAlone is how many additions are tried one by one where the server refuses to let all of them go.
const maxAlone = 16

// try asks the server what it would make of the object without the additions, once for each state of them. What it would put there by
// itself is none: the defaults in the entry of the manager that created the object or a container, and what its admission adds.
func (w *objectReconcile) try(ctx context.Context, found []compare.Addition) ([]compare.Addition, error) {
	if len(found) == 0 {
		w.tried(nil)
		return nil, nil
	}
	of := w.sum(found)
	if t := w.snap.additionProbe; t != nil && t.of == of {
		return t.kept(found), nil
	}
	real, err := ProbeAdditions(ctx, w.access.Writer, w.target(), w.live, found)
	if err != nil {
		return nil, err
	}
	t := &additionProbe{of: of, keep: map[string]string{}}
	for _, a := range real {
		t.keep[field.PathString(a.Path)] = a.Kept
	}
	w.tried(t)
	return real, nil
}

// kept applies earlier knowledge to additions that were found again.
func (t *additionProbe) kept(found []compare.Addition) []compare.Addition {
	var out []compare.Addition
	for _, a := range found {
		if why, ok := t.keep[field.PathString(a.Path)]; ok {
			a.Kept = why
			out = append(out, a)
		}
	}
	return out
}

func (w *objectReconcile) tried(t *additionProbe) {
	w.managed.mu.Lock()
	defer w.managed.mu.Unlock()
	w.managed.additionProbe, w.snap.additionProbe = t, t
}

func (w *objectReconcile) sum(found []compare.Addition) uint64 {
	all := []any{w.live.UID(), string(w.snap.sum[:])}
	for _, a := range found {
		v, _ := field.ValueAt(w.live, a.Path)
		all = append(all, field.PathString(a.Path), a.Writer.Name, v)
	}
	return w.engine.Hasher.Value(all)
}

func (w *objectReconcile) target() apply.Target {
	return apply.Target{GVK: w.snap.gvk, ID: w.managed.id, UID: w.live.UID(), ResourceVersion: w.live.ResourceVersion()}
}

// ProbeAdditions returns those of the additions that the server would not put there by itself, by dry runs. Of those that it would not let go it
// says why.
func ProbeAdditions(ctx context.Context, by apply.Writer, t apply.Target, live object.Object, found []compare.Addition) ([]compare.Addition, error) {
	without, err := dryRunRemoval(ctx, by, t, live, found)
	if err == nil {
		return addition.WithoutDefaults(live, without, found), nil
	}
	if !errors.Is(err, apply.ErrRefused) && !errors.Is(err, apply.ErrForbidden) {
		return nil, err
	}
	if len(found) == 1 || len(found) > maxAlone || errors.Is(err, apply.ErrForbidden) {
		return refused(found, err), nil
	}
	var out []compare.Addition
	for i := range found {
		alone, err := ProbeAdditions(ctx, by, t, live, found[i:i+1])
		if err != nil {
			return nil, err
		}
		out = append(out, alone...)
	}
	return out, nil
}

func refused(all []compare.Addition, err error) []compare.Addition {
	out := slices.Clone(all)
	for i := range out {
		if out[i].Kept == "" {
			out[i].Kept = "the API server does not let it go: " + redact.MaskText(err.Error())
		}
	}
	return out
}

func dryRunRemoval(ctx context.Context, by apply.Writer, t apply.Target, live object.Object, all []compare.Addition) (object.Object, error) {
	e := apply.Edit{Target: t, DryRun: apply.Simulate}
	for _, p := range addition.Pointers(live, all) {
		e.Operations = append(e.Operations, apply.Operation{At: p})
	}
	return by.Edit(ctx, e)
}

// take remembers who had added the fields that the plan makes truce's: after that write managedFields no longer show it.
func (w *objectReconcile) take() {
	for _, f := range w.plan.Removed() {
		if w.taken == nil {
			w.taken = map[string]ownership.Writer{}
		}
		w.taken[field.PathString(f.Path)] = f.Writer
	}
}

// removed notes each addition that was taken away, and whether the server has put the very same there again.
func (w *objectReconcile) removed(m fight.Memory, answer object.Object) fight.Memory {
	for _, f := range w.plan.Removed() {
		path := field.PathString(f.Path)
		m = w.corrected(m, f)
		if v, there := field.ValueAt(answer, f.Path); there && f.Live.Equal(redact.HideValue(v)) {
			m = m.WithStuck(path, w.engine.Hasher.Value(v))
		}
	}
	return m
}

// adopt notes what was there when the object became ours. The record is locked by the caller.
func (w *objectReconcile) adopt() {
	r := w.managed
	var given []string
	for _, a := range w.added {
		if len(a.Held) > 0 {
			given = append(given, field.PathString(a.Path))
		}
	}
	unknown := w.live != nil && w.bearsOurMark() // an earlier process took it over
	r.found = w.live != nil && (unknown || len(given) > 0)
	if unknown {
		given = nil
	}
	r.memory = r.memory.WithPreexisting(given)
}

// forget drops fields that were there before truce and are gone: if they appear again, they were added. The caller holds mu.
func (w *objectReconcile) forget() {
	given := w.managed.memory.PreexistingPaths()
	if len(given) == 0 || w.app.Policy.Additions == policy.AdditionsAllow {
		return
	}
	still := slices.DeleteFunc(slices.Clone(given), func(path string) bool {
		return !slices.ContainsFunc(w.added, func(a compare.Addition) bool { return field.PathString(a.Path) == path })
	})
	w.managed.memory = w.managed.memory.WithPreexisting(still)
	w.managed.found = len(still) > 0
}
