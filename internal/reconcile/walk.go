package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/act"
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
)

// maxTries is how often one object is judged on what is stale, and how many steps are made, before its street is given up until
// the next event.
const maxTries = 6

var errUnsettled = errors.New("it keeps changing while truce judges it; the next event or full check tries again")

// walk is one object's way down the street.
type walk struct {
	engine *Engine
	record *record
	seen   *live.Event // what woke us; nil when nothing is known

	snap   snapshot
	app    app.App
	live   object.Object
	owners []ownership.Entry
	plan   decide.Plan
	fresh  bool // live is the server's newest answer, not to be read again
	stale  bool // what we knew was wrong: only a GET counts
	asked  bool // claimants were listed anew
}

// once looks, judges, and makes the plan's writes. It reports whether nothing was left to do.
func (w *walk) once(ctx context.Context) (bool, error) {
	if err := w.look(ctx); err != nil {
		return false, err
	}
	compared, decided, err := w.gather(ctx)
	if errors.Is(err, act.ErrStale) {
		w.reread()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if w.plan, err = judge(compared, decided); err != nil {
		return false, err
	}
	if again, err := w.askClaimants(ctx); again || err != nil {
		return false, err
	}
	w.announce()
	if len(w.plan.Steps) == 0 {
		w.rest()
		w.confirmLater()
		return true, nil
	}
	return false, w.act(ctx)
}

// look makes sure that live is what the server holds: the event that woke us, the answer to our last write, or a GET.
func (w *walk) look(ctx context.Context) error {
	var err error
	if w.snap, err = w.record.snapshot(&w.engine.texts); err != nil {
		return err
	}
	if w.app, err = w.engine.appOf(w.snap.owner); err != nil {
		return err
	}
	w.app = w.app.For(w.record.id)
	if w.fresh {
		return nil
	}
	w.live = nil
	switch {
	case w.seen != nil && !w.seen.Gone && w.seen.Depth == live.Full:
		w.live = w.seen.Object
	case w.seen == nil && !w.stale && w.surelyAbsent():
	default:
		w.live, err = w.engine.Live.Get(ctx, w.snap.gvk, w.record.id)
		if errors.Is(err, live.ErrNotFound) {
			w.live, err = nil, nil
		}
	}
	w.seen = nil
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	w.owners, err = ownership.Entries(w.live)
	w.fresh = true
	return err
}

// reread makes the next look a GET.
func (w *walk) reread() { w.fresh, w.stale = false, true }

// surelyAbsent saves a GET before the creation of an object: its kind is under watch, and it was never seen there. If it is
// there after all (without our label), the unforced apply of Create meets its owners.
func (w *walk) surelyAbsent() bool {
	return !w.snap.hadHome && w.engine.Watches != nil && w.engine.Watches.Synced(w.snap.gvk) && !w.engine.targeted(w.record.id)
}

// gather brings together, as values, everything that the judges may know.
func (w *walk) gather(ctx context.Context) (compare.Input, decide.Input, error) {
	ignored, err := w.covered(ctx)
	if err != nil {
		return compare.Input{}, decide.Input{}, err
	}
	in := decide.Input{
		Desired: w.snap.desired, Previous: w.snap.previous, Live: w.live, Owners: w.owners, Changed: w.snap.changed,
		Claims: w.claims(), Ignored: ignored,
		Memory: w.snap.memory, Policy: w.app.Policy, Hasher: w.engine.Hasher, Now: w.engine.Now(),
	}
	ceded := decide.Ceded(in)
	base, err := w.baseline(ctx, ceded)
	if err != nil {
		return compare.Input{}, in, err
	}
	in.Changed = w.snap.changed
	return compare.Input{
		Desired: in.Desired, Live: in.Live, Owners: in.Owners, Baseline: base, Hasher: in.Hasher,
		Withheld: ceded, Released: without(w.snap.withheld, ceded),
	}, in, nil
}

func without(list, drop []field.Path) []field.Path {
	var out []field.Path
	for _, p := range list {
		gone := false
		for _, q := range drop {
			gone = gone || p.Equals(q)
		}
		if !gone {
			out = append(out, p)
		}
	}
	return out
}

// baseline returns what the server makes of Git's object: remembered from our last apply; else live itself, where that
// plainly is as Git wants; else the answer to a dry run. A changed object that will be applied anyway needs none.
func (w *walk) baseline(ctx context.Context, ceded []field.Path) (compare.Baseline, error) {
	if w.live != nil && w.snap.baseline.Doubted() {
		return w.retake(ctx, ceded)
	}
	if w.live == nil || w.snap.baseline.Known() && !w.outdated() {
		return w.snap.baseline, nil
	}
	body := w.snap.desired.Clone()
	for _, p := range ceded {
		field.Drop(body, p)
	}
	if compare.AsDesired(body, w.live, w.owners) {
		w.snap.changed = false // it was applied before, by a truce of which nothing but this is left
		b := compare.Settle(w.live, w.owners, w.engine.Hasher)
		w.keep(b)
		return b, nil
	}
	if w.snap.changed && w.app.Policy.Mode == app.Enforce {
		return compare.Baseline{}, nil
	}
	return w.predict(ctx, body)
}

// outdated reports whether the baseline is that of another revision than the one to compare with: where nothing is written, none is
// ever taken by an apply.
func (w *walk) outdated() bool {
	return w.snap.changed && !w.snap.foreseen && w.app.Policy.Mode != app.Enforce
}

func (w *walk) predict(ctx context.Context, body object.Object) (compare.Baseline, error) {
	predicted, err := w.engine.Writer.Apply(ctx, act.Apply{
		Target: act.Target{GVK: w.snap.gvk, ID: w.record.id, UID: w.live.UID(), ResourceVersion: w.live.ResourceVersion()},
		Body:   body, Manager: ownership.Manager, Force: act.Take, DryRun: act.Simulate,
	})
	if err != nil {
		return compare.Baseline{}, fmt.Errorf("dry run: %w", err)
	}
	owners, err := ownership.Entries(predicted)
	if err != nil {
		return compare.Baseline{}, err
	}
	b := compare.Settle(predicted, owners, w.engine.Hasher)
	w.keep(b)
	return b, nil
}

func (w *walk) keep(b compare.Baseline) {
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	w.record.baseline, w.record.foreseen = b, w.snap.changed && w.record.sum == w.snap.sum
}

// askClaimants lists the claimants of the namespace once more before a field that could be claimed is put back.
// It reports whether that changed anything: then the object is judged again.
func (w *walk) askClaimants(ctx context.Context) (bool, error) {
	if w.asked || w.app.Policy.Claims != app.ClaimsCede {
		return false, nil
	}
	kinds := append(w.claimable(), w.engine.unconfirmed(w.record.id)...)
	if len(kinds) == 0 {
		return false, nil
	}
	w.asked = true
	before := w.engine.claimants(w.record.id)
	if err := w.engine.refreshClaims(ctx, kinds, w.record.id.Namespace); err != nil {
		return false, fmt.Errorf("list claimants before correcting it: %w", err)
	}
	return !slices.Equal(before, w.engine.claimants(w.record.id)), nil
}
