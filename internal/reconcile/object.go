package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/addition"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// maxTries is how often one object is judged on what is stale, and how many steps are made, before its street is given up until
// the next event.
const maxTries = 6

var errKeepsChanging = errors.New("it keeps changing while truce judges it; the next event or full check tries again")

// objectReconcile is one object's way down the street.
type objectReconcile struct {
	engine  *Engine
	record  *record
	seen    *live.Event // what woke us; nil when nothing is known
	arrived time.Time   // of the first event that was seen
	version uint64      // of the one event that was seen; 0 where there were several

	snap    snapshot
	app     app.App
	access  tenancy.Access // of app's account
	live    object.Object
	owners  []ownership.Entry
	plan    decide.Plan
	fresh   bool   // live is the server's newest answer, not to be read again
	stale   bool   // what we knew was wrong: only a GET counts
	asked   bool   // claimants were listed again
	lacks   string // what would have to be there before an absent object could be made
	alone   bool   // no dry run can show what an apply would leave
	rebased bool   // the baseline is another one than at the last judgement

	treatment optout.Treatment // what the object itself asks for

	added []addition.Addition         // what live has that Git does not name
	taken map[string]ownership.Writer // of additions that were made ours, in order to go

	counts []claim.Claim        // on the object
	untold map[string]time.Time // by path: until when a finding waits to be reported
}

// once looks, judges, and makes the plan's writes. It reports whether nothing was left to do.
func (w *objectReconcile) once(ctx context.Context) (bool, error) {
	if err := w.look(ctx); err != nil {
		return false, err
	}
	if err := w.refuseForeign(ctx); err != nil {
		return false, err
	}
	if err := w.treat(); err != nil {
		return false, err
	}
	compared, decided, err := w.gather(ctx)
	if errors.Is(err, apply.ErrStale) {
		w.reread()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if w.plan, err = decidePlan(compared, decided); err != nil {
		return false, err
	}
	if w.plan.Refused != "" {
		return false, errors.New(w.plan.Refused)
	}
	if w.plan.AdoptionLost != "" {
		w.engine.endAdoption(w.app, w.plan.AdoptionLost)
		return false, nil // it is judged again, as an object of an app that is only observed
	}
	if again, err := w.askClaimants(ctx); again || err != nil {
		return false, err
	}
	if err := w.hear(ctx, compared, decided); err != nil {
		return false, err
	}
	w.announce()
	if len(w.plan.Steps) == 0 {
		return w.end()
	}
	return false, w.act(ctx)
}

// end keeps a judgement that left nothing to do, if it still holds.
func (w *objectReconcile) end() (bool, error) {
	err := w.rest()
	if errors.Is(err, errChangedBack) {
		w.reread()
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.confirmLater()
	return true, nil
}

// look makes sure that live is what the server holds: the event that woke us, the answer to our last write, or a GET. The watches are
// truce's own: for an app with an account only what the account is answered counts, so that nothing is shown that it may not read.
func (w *objectReconcile) look(ctx context.Context) error {
	var err error
	era := w.engine.History.Era()
	if w.snap, err = w.record.snapshot(&w.engine.desiredTexts); err != nil {
		return err
	}
	if w.app, err = w.engine.appOf(w.snap.owner); err != nil {
		return err
	}
	w.app = w.app.ForObject(w.record.id)
	if w.access, err = tenancy.AccessOf(w.engine.Identities, w.app); err != nil {
		return err
	}
	if w.fresh {
		return nil
	}
	if w.stale {
		w.seen = w.newer()
	}
	w.live = nil
	switch {
	case w.isShown():
		w.live = w.seen.Object
	case w.seen == nil && !w.stale && w.surelyAbsent():
	default:
		w.live, err = w.access.Live.Get(ctx, w.snap.gvk, w.record.id)
		if w.live.UID() == w.snap.uid && w.engine.isOlder(versionOf(w.live), w.snap.version, era) {
			return errWentBack
		}
		if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) && w.app.Policy.Mode == app.Observe {
			w.lacks = w.homeless(ctx, err)
			w.live, err = nil, nil
		}
	}
	w.seen = nil
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	w.owners, err = w.engine.shapes.Owners(w.live, w.snap.baseline)
	w.fresh = true
	return err
}

// isShown reports whether the event that woke us shows the whole object, to an app that may see what truce sees.
func (w *objectReconcile) isShown() bool {
	return w.app.Account.IsSelf() && w.seen != nil && !w.seen.Gone && w.seen.Depth == live.Full
}

// newer is what the watch has brought since the last look; nil for nothing.
func (w *objectReconcile) newer() *live.Event {
	ev := w.record.takeNewerPending(w.live, &w.engine.eventTexts)
	if ev != nil {
		w.version = 0 // it is not the only one
	}
	return ev
}

// homeless says what would have to be there before an absent object that is only observed could be made: its kind, or its namespace.
// Where it is not known, nothing is reported.
func (w *objectReconcile) homeless(ctx context.Context, absent error) string {
	id := w.record.id
	switch {
	case w.app.Policy.Mode != app.Observe:
		return ""
	case errors.Is(absent, live.ErrUnknownKind):
		return "the API server serves " + w.snap.gvk.String()
	case id.Namespace == "":
		return ""
	}
	home := object.GVK{Version: "v1", Kind: "Namespace"}
	if _, err := w.access.Live.Get(ctx, home, object.ID{Kind: home.Kind, Name: id.Namespace}); errors.Is(err, live.ErrNotFound) {
		return "namespace " + id.Namespace + " is there"
	}
	return ""
}

// reread makes the next look a newer event than the one that was judged, where the watch has brought it by then; else a GET.
func (w *objectReconcile) reread() { w.fresh, w.stale = false, true }

// surelyAbsent saves a GET before the creation of an object: its kind is under watch, and it was never seen there. If it is
// there after all (without our label), the unforced apply of Create conflicts with its owners. It would not conflict with another instance of
// truce, which writes under the same field manager: an instance of some namespaces sends the GET. So does one that writes nothing.
func (w *objectReconcile) surelyAbsent() bool {
	return w.app.Account.IsSelf() && w.app.Policy.Mode == app.Enforce && w.mayBeMade() && !w.snap.wasThere && w.engine.Foreign == nil && w.engine.Watches != nil &&
		w.engine.Watches.Synced(w.snap.gvk, w.record.id.Namespace) && !w.engine.hasClaimant(w.record.id)
}

// refuseForeign returns an error for an object of an app outside of this instance's namespaces. That truce's own apply has put that app's mark
// there proves it: a mark that was copied proves nothing.
func (w *objectReconcile) refuseForeign(ctx context.Context) error {
	mark, marked := w.live.Label(object.PartOf)
	if ours, _ := w.snap.desired.Label(object.PartOf); w.engine.Foreign == nil || !marked || mark == ours || !w.bearsOurMark() {
		return nil
	}
	owner, err := w.engine.Foreign.WithMark(ctx, mark)
	if err != nil || owner == "" {
		return err
	}
	return fmt.Errorf("it belongs to %s, for which another truce instance works: not applied here; remove the object from one of the two", owner)
}

// gather brings together, as values, everything that the judges may know.
func (w *objectReconcile) gather(ctx context.Context) (compare.Input, decide.Input, error) {
	ignored, err := w.covered(ctx)
	if err != nil {
		return compare.Input{}, decide.Input{}, err
	}
	claims, count, err := w.claims(ctx)
	if err != nil {
		return compare.Input{}, decide.Input{}, err
	}
	in := decide.Input{
		Desired: w.snap.desired, Previous: w.snap.previous, Live: w.live, Owners: w.owners, Changed: w.snap.changed,
		Claims: claims, Count: count, Ignored: ignored, Prerequisite: w.lacks,
		Memory: w.snap.memory, Request: w.snap.request, Policy: w.app.Policy, Adoption: w.app.Adoption, Hasher: w.engine.Hasher, Now: w.engine.Now(),
		Treatment: w.treatment, Adopted: w.snap.adoption != "" && w.snap.adoption == w.app.Adoption.ID(),
	}
	if in.IsOptedOut() {
		return compare.Input{Desired: in.Desired, Live: in.Live, Owners: in.Owners, Hasher: in.Hasher}, in, nil
	}
	ceded := decide.CededPaths(in)
	base, err := w.baseline(ctx, ceded)
	if errors.Is(err, apply.ErrForbidden) && w.app.Policy.Mode == app.Observe || err != nil && w.refusedWhilePaused(err) {
		err = w.unasked(err)
	}
	if err != nil {
		return compare.Input{}, in, err
	}
	in.Changed = w.snap.changed
	if base.Mutated() {
		in.Mutators, in.Catalogue = w.mutators(ctx), w.engine.Catalogue()
	}
	in.Changed, in.Past, w.counts = w.snap.changed, w.past(), claims
	if w.added, err = w.additions(ctx, base, in); err != nil {
		return compare.Input{}, in, err
	}
	return compare.Input{
		Desired: in.Desired, Live: in.Live, Owners: in.Owners, Baseline: base, Hasher: in.Hasher, Added: w.added,
		Withheld: ceded, Released: without(w.snap.withheld, ceded),
		Past: in.Past, WithoutBaseline: w.alone, Native: desired.Native(w.snap.gvk.Group),
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
func (w *objectReconcile) baseline(ctx context.Context, ceded []field.Path) (compare.Baseline, error) {
	if w.live != nil && w.snap.baseline.Doubted() {
		return w.retake(ctx, ceded)
	}
	if w.live == nil || w.snap.baseline.Known() && !w.outdated() {
		return w.snap.baseline, nil
	}
	if w.snap.noDryRun != "" && w.app.Policy.Mode == app.Observe {
		return compare.Baseline{}, apply.ErrForbidden
	}
	body := w.snap.desired.Clone()
	for _, p := range ceded {
		field.RemoveValue(body, p)
	}
	if compare.MatchesDesired(body, w.live, w.owners) {
		w.snap.changed = false // it was applied before, by a truce of which nothing but this is left
		b := compare.NewBaseline(w.live, w.owners, w.engine.Hasher)
		w.keep(b)
		return b, nil
	}
	if w.snap.changed && w.app.Policy.Mode == app.Enforce {
		return compare.Baseline{}, nil
	}
	return w.predict(ctx, body)
}

// unasked remembers that the server refuses dry runs of this object: then what Git names is compared by itself.
func (w *objectReconcile) unasked(why error) error {
	w.alone = true
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	if w.record.noDryRun == "" {
		w.record.noDryRun = redact.MaskText(why.Error())
	}
	return nil
}

// outdated reports whether the baseline is that of another revision than the one to compare with: where nothing is written, none is
// ever taken by an apply.
func (w *objectReconcile) outdated() bool {
	return w.snap.changed && !w.snap.foreseen && w.app.Policy.Mode != app.Enforce
}

func (w *objectReconcile) predict(ctx context.Context, body object.Object) (compare.Baseline, error) {
	predicted, err := w.access.Writer.Apply(ctx, apply.Apply{
		Target: apply.Target{GVK: w.snap.gvk, ID: w.record.id, UID: w.live.UID(), ResourceVersion: w.live.ResourceVersion()},
		Body:   body, Manager: ownership.Manager, Force: apply.Take, DryRun: apply.Simulate,
	})
	if err != nil {
		return compare.Baseline{}, fmt.Errorf("dry run: %w", err)
	}
	owners, err := w.engine.shapes.Owners(predicted, w.snap.baseline)
	if err != nil {
		return compare.Baseline{}, err
	}
	b := w.answered(body, predicted, owners)
	w.keep(b)
	return b, nil
}

func (w *objectReconcile) keep(b compare.Baseline) {
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	w.rebased = w.rebased || w.snap.baseline.Known()
	w.record.baseline, w.record.foreseen = b, w.snap.changed && w.record.sum == w.snap.sum
}

// askClaimants lists the claimants of the namespace once more before a field that could be claimed is put back.
// It reports whether that changed anything: then the object is judged again.
func (w *objectReconcile) askClaimants(ctx context.Context) (bool, error) {
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
