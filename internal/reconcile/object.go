package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// Object reconciles one object: decode, compare, decide, write, until nothing is left to do. A watch event, a changed claim, or App leads
// here. The time is when a held correction is due; zero for none. Where this failure is the first of the object, Object enqueues its app,
// whose run reports it.
func (e *Engine) Object(ctx context.Context, id object.ID) (time.Time, error) {
	known := e.isTroubled(id)
	again, err := e.reconcileObject(ctx, id)
	if err != nil && !known && ctx.Err() == nil {
		e.enqueueOwner(id)
	}
	return again, err
}

func (e *Engine) reconcileObject(ctx context.Context, id object.ID) (time.Time, error) {
	r := e.lookup(id)
	if r == nil {
		return time.Time{}, nil
	}
	r.reconcileLock.Lock()
	defer r.reconcileLock.Unlock()
	if e.lookup(id) != r || !e.isDue(id) { // dropped while this waited for the lock, or the reconcile before has covered the event
		return time.Time{}, nil
	}
	if !r.hasText() { // what Git wants is not rendered; the run that renders it compares the object
		e.queue.EnqueueApp(r.ownedBy())
		return time.Time{}, nil
	}
	w := objectReconcile{engine: e, managed: r}
	return w.reconcile(ctx)
}

// objectReconcile is one reconcile of one object.
type objectReconcile struct {
	engine  *Engine
	managed *managedObject
	seen    *live.Event // the event that led here; nil for none
	arrived time.Time   // of the first event that waited
	version uint64      // of the only event that waited; 0 where there were several

	// What decode leaves for compare.
	snap      snapshot
	app       app.App
	access    tenancy.Access // of the app's account
	live      object.Object
	owners    []ownership.Entry
	treatment optout.Treatment // what the object itself asks for
	freshness freshness        // of live
	wrote     bool             // a write was begun
	missing   string           // what would have to exist before an absent object could be created

	// What compare leaves for decide.
	input  decide.Input
	added  []compare.Addition          // fields that others have added
	taken  map[string]ownership.Writer // who had added the fields that truce owns now, in order to remove them
	claims []claim.Claim               // on the object
	last   object.Object               // how the object was when it was deleted, where the event about that has shown it
	// countHidden says that the definition of the kind, which says where its count is, may not be read.
	countHidden bool
	noDryRun    bool // no dry run can show what an apply would leave
	rebased     bool // the baseline is another one than at the last comparison

	// What decide leaves for write.
	plan      decide.Plan
	judged    bool                 // there is a plan, of this attempt or one before
	relisted  bool                 // claimants were listed again
	restored  []field.Path         // what truce has set to Git's value
	postponed map[string]time.Time // by path: until when the report of a finding waits
	announced []report.Finding     // by this attempt or one before
	returned  []report.Finding     // of these it was noted that they are no more
}

// freshness says what the live object that a reconcile holds is worth.
type freshness uint8

const (
	unread   freshness = iota // none is held: what the event shows that led here will do
	current                   // the server's newest answer, not to be read again
	outdated                  // it turned out to be wrong: only an event that came since, or a GET, counts
)

// maxTries is how often one object is reconciled from a stale state, and how many writes are made, before the next event is waited for.
const maxTries = 6

var errKeepsChanging = errors.New("it keeps changing while truce compares it; the next event or full check tries again")

// errRepeat ends an attempt that has to begin again.
var errRepeat = errors.New("begin again")

// reconcile attempts until nothing is left to do. The caller holds the object's lock. A panic becomes the object's problem.
func (w *objectReconcile) reconcile(ctx context.Context) (again time.Time, err error) {
	defer func() {
		if p := panics.CaughtError(recover()); p != nil {
			again, err = time.Time{}, w.panicked(p)
		}
	}()
	came, err := w.managed.takePending(&w.engine.eventTexts)
	if err != nil {
		return time.Time{}, w.failed(err)
	}
	w.seen, w.arrived, w.version = came.event, came.at, came.single
	for stale, steps := 0, 0; stale < maxTries && steps < maxTries; {
		done, err := w.attempt(ctx)
		if errors.Is(err, errWentBack) {
			return time.Time{}, nil // the app's next run begins at once
		}
		if err != nil {
			return time.Time{}, w.failed(err)
		}
		if done {
			return w.plan.RetryAt, nil
		}
		if w.freshness == current { // something was written, or more is known than before
			steps++
			continue
		}
		stale++
		if err := pauseStale(ctx, stale); err != nil {
			return time.Time{}, w.failed(err)
		}
	}
	return time.Time{}, w.failed(errKeepsChanging)
}

// attempt reports whether nothing was left to do. Nothing about an object is decided or written elsewhere, but for its deletion (pruneRun)
// and its return to another controller (handBackEntry).
func (w *objectReconcile) attempt(ctx context.Context) (done bool, err error) {
	for _, step := range [...]func(context.Context) error{
		w.decode,  // what does Git want, what does the server hold, and how are they to be treated?
		w.compare, // which fields differ?
		w.decide,  // what is done about each of them, and why?
		w.write,   // the steps of the plan; where there are none, the result is kept
	} {
		if err := step(ctx); errors.Is(err, errRepeat) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	return len(w.plan.Steps) == 0, nil
}

// pauses are those before a stale state is read again: the deployment controller writes a status a few milliseconds after each change of a
// Deployment, and several while its pods come; on a busy server that takes longer.
var pauses = [...]time.Duration{5 * time.Millisecond, 10 * time.Millisecond, 30 * time.Millisecond, 180 * time.Millisecond, 1080 * time.Millisecond}

// pauseStale gives other writers time to finish, before an object is read again after so many stale reads.
func pauseStale(ctx context.Context, stale int) error {
	select {
	case <-time.After(pauses[min(stale, len(pauses))-1]):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// decode reads Git's object and the live one, and applies what both ask for. It fails for an object of an app outside of this instance's namespaces.
func (w *objectReconcile) decode(ctx context.Context) error {
	if err := w.readObject(ctx); err != nil {
		return err
	}
	if err := w.refuseForeign(ctx); err != nil {
		return err
	}
	w.readOptOuts()
	return nil
}

// readObject makes sure that live is what the server holds: the event that woke us, the answer to our last write, or a GET. The watches are
// truce's own: for an app with an account only what the account is answered counts, so that nothing is shown that it may not read.
func (w *objectReconcile) readObject(ctx context.Context) error {
	var err error
	era := w.engine.History.Era()
	if w.snap, err = w.managed.snapshot(&w.engine.desiredTexts); err != nil {
		return err
	}
	if w.app, err = w.engine.appOf(w.snap.owner); err != nil {
		return err
	}
	w.app = w.unlessLeftOut(w.app.ForObject(w.managed.id))
	if w.access, err = w.engine.accessOf(w.app); err != nil {
		return err
	}
	if w.freshness == current {
		return nil
	}
	if w.freshness == outdated {
		w.seen = w.newer()
	}
	w.live = nil
	switch {
	case w.isShown():
		w.live = w.seen.Object
	case w.seen == nil && w.freshness == unread && w.surelyAbsent():
	default:
		w.live, err = w.access.Live.Get(ctx, w.snap.gvk, w.managed.id)
		if w.live.UID() == w.snap.uid && w.engine.isOlder(versionOf(w.live), w.snap.version, era) {
			return errWentBack
		}
		if errors.Is(err, live.ErrNotFound) || errors.Is(err, live.ErrUnknownKind) && w.app.Policy.Mode == policy.Observe {
			w.missing = w.homeless(ctx, err)
			w.live, err = nil, nil
		}
	}
	w.keepLast()
	w.seen = nil
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	w.owners, err = w.engine.shapes.Owners(w.live, w.snap.baseline)
	w.freshness = current
	return err
}

// keepLast keeps the object as the event that woke us shows it at its end.
func (w *objectReconcile) keepLast() {
	if s := w.seen; s != nil && s.Gone && s.Depth == live.Full && s.Object.UID() == w.snap.uid && w.app.Account.IsSelf() {
		w.last = s.Object
	}
}

// isShown reports whether the event that woke us shows the whole object, to an app that may see what truce sees.
func (w *objectReconcile) isShown() bool {
	return w.app.Account.IsSelf() && w.seen != nil && !w.seen.Gone && w.seen.Depth == live.Full
}

// newer is what the watch has brought since the last look; nil for nothing.
func (w *objectReconcile) newer() *live.Event {
	ev := w.managed.takeNewerPending(w.live, &w.engine.eventTexts)
	if ev != nil {
		w.version = 0 // it is not the only one
	}
	return ev
}

// homeless says what would have to be there before an absent object that is only observed could be made: its kind, or its namespace.
// Empty where the account may not read that.
func (w *objectReconcile) homeless(ctx context.Context, absent error) string {
	id := w.managed.id
	switch {
	case w.app.Policy.Mode != policy.Observe:
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
func (w *objectReconcile) reread() { w.freshness = outdated }

// surelyAbsent saves a GET before the creation of an object: its kind is under watch, and it was never seen there. If it is
// there after all (without our label), the unforced apply of Create conflicts with its owners. It would not conflict with another instance of
// truce, which writes under the same field manager: an instance of some namespaces sends the GET. So does one that writes nothing, and an app that would
// only report the deletion: what another controller has made, and truce has not taken over, is there without the label.
func (w *objectReconcile) surelyAbsent() bool {
	return w.app.Account.IsSelf() && w.app.Policy.Mode == policy.Enforce && !w.onlyReported() && w.mayBeMade() && !w.snap.wasThere() && w.engine.Foreign == nil && w.engine.Watches != nil &&
		w.engine.Watches.Synced(w.snap.gvk, w.managed.id.Namespace) && !w.engine.hasClaimant(w.managed.id)
}

// onlyReported reports whether the app would report the absence of the object, and not create it: nothing in Git has changed since it was there.
func (w *objectReconcile) onlyReported() bool {
	return w.app.Policy.Remediation == policy.ReportOnly && (!w.snap.state.isChanged() || w.snap.isUnrecorded())
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
