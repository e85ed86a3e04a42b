package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// write reports the findings, and makes the plan's writes. A plan without a step ends the reconcile.
func (w *objectReconcile) write(ctx context.Context) error {
	if len(w.plan.Steps) > 0 && w.awaitsRun() {
		w.plan.Steps = nil
		return nil
	}
	w.announce()
	if len(w.plan.Steps) == 0 {
		return w.keepResult()
	}
	return w.executePlan(ctx)
}

// awaitsRun reports whether the app's inventory is not stored yet, or the object's wave of an operation has not begun, and leaves the object to the
// app's run, which reconciles it once that is so. An event or a changed claim can come before that, and the inventory may not be writable.
func (w *objectReconcile) awaitsRun() bool {
	w.managed.mu.Lock()
	defer w.managed.mu.Unlock()
	if w.managed.listed && !w.managed.awaitsWave || w.app.Policy.Mode != policy.Enforce {
		return false
	}
	w.managed.forced = true
	return true
}

// executePlan makes the plan's writes. That the object has changed since it was read is no error: it is read and compared again.
func (w *objectReconcile) executePlan(ctx context.Context) error {
	t := apply.Target{GVK: w.snap.gvk, ID: w.managed.id}
	w.wrote = true
	w.take()
	w.announceDrops()
	begin := w.engine.Now()
	answer, err := apply.ExecuteSteps(ctx, w.access.Writer, t, w.live, w.plan.Steps)
	if errors.Is(err, apply.ErrStale) || errors.Is(err, apply.ErrGone) {
		w.reread()
		return nil
	}
	if errors.Is(err, apply.ErrInvalid) && w.treatment.Recreate != "" {
		return w.recreate(ctx, answer, err)
	}
	if err != nil {
		return w.withWayOut(answer, err)
	}
	owners, err := w.engine.shapes.Owners(answer, w.snap.baseline)
	if err != nil {
		return err
	}
	base := w.answered(w.input, w.sentBody(), answer, owners)
	remembered := w.learn(base, answer, owners)
	w.noteChange(answer)
	w.announceCarried(base, answer)
	if w.live == nil && w.engine.listedSince(begin, t) && w.managed.suspectGone() { // the list may be from after its end, and the watch goes on from there
		w.engine.queue.Enqueue(w.managed.id)
	}
	if w.live == nil && w.snap.wasThere() {
		w.engine.queue.EnqueueApp(w.snap.owner) // the inventory has the uid of the one that is gone
	}
	w.live, w.owners = answer, owners
	w.applied()
	return remembered
}

// withWayOut says how an object gets what the API server does not let change; not of one that holds data.
func (w *objectReconcile) withWayOut(live object.Object, err error) error {
	if !errors.Is(err, apply.ErrImmutable) {
		return err
	}
	if _, refused := w.input.PlanRecreate(live, w.sentBody()); refused != nil {
		return err
	}
	if asking := w.app.OptOuts.Asking(optout.Recreate); asking != "" {
		return fmt.Errorf("%w; to have it deleted and created, annotate it in Git with %s; or delete it, and truce creates it", err, asking)
	}
	return fmt.Errorf("%w; to have it as Git describes it, delete it, and truce creates it", err)
}

// learn keeps what the server's answer teaches: the new baseline, or that an apply does not restore a field.
func (w *objectReconcile) learn(base compare.Baseline, answer object.Object, owners []ownership.Entry) error {
	e, r := w.engine, w.managed
	memory, stuck := w.remember(base, answer, owners)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory = memory
	r.endRequest(w.snap.request)
	if appliesObject(w.plan) && !w.ours() {
		w.adopt()
	}
	remembered := e.keepMemory(r)
	if r.observed(answer, e) && r.health.Code == health.Missing { // else it would be applied and Missing until the comparison that follows
		r.keepHealth(e, answer)
	}
	if movesOwnership(w.plan) { // what was applied before shows nothing about what an apply leaves now
		r.baseline, r.previous, r.withheld = compare.Baseline{}, object.Packed{}, nil
		r.state.takeOver()
	}
	if !appliesObject(w.plan) {
		return remembered
	}
	r.appliedUID, r.withheld = answer.UID(), w.plan.Withheld
	r.setUnproven(e, w.treatment.Effect == optout.CreateOnly && r.health.Code.IsAwaited())
	if !stuck {
		r.baseline = base
	}
	if w.sent() {
		if r.state.isChanged() {
			e.failures.renew(r.owner, r.id, e.assess(r.assessed, answer).Code, e.Now()) // not that of before
		}
		r.state.apply()
		r.isReplaced = false
		r.previous = object.Packed{}
	}
	return remembered
}

// movesOwnership reports whether the plan moves the object between another controller and us.
func movesOwnership(p decide.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s decide.Step) bool { return s.Verb == decide.Adopt || s.Verb == decide.Release })
}

// sent reports whether what was judged is still what Git wants: a run may have brought a newer object meanwhile.
func (w *objectReconcile) sent() bool {
	return w.managed.sum == w.snap.sum
}

// observed takes in an answer of the server, and reports whether that is still the newest state: the watch may have shown since
// what another wrote right after it, and no further event would come.
func (r *managedObject) observed(o object.Object, e *Engine) bool {
	if r.knowsNewer(o) {
		return false
	}
	if uid := o.UID(); uid == r.appliedUID {
		r.uid = r.appliedUID // no second copy
	} else if uid != r.uid {
		e.failures.renew(r.owner, r.id, health.Unknown, e.Now())
		r.uid = uid
	}
	r.version = versionOf(o)
	r.fingerprint, r.settled = unchanged.Fingerprint(e.Hasher, o), unchanged.StateOf(o)
	if p := r.pending; p != nil && !p.Gone && p.uid == r.uid && r.knows(p.version) {
		r.pending = nil // the watch was quicker than the answer
	}
	return true
}

// knowsNewer reports whether a later state of the object than this one was seen.
func (r *managedObject) knowsNewer(o object.Object) bool {
	v := versionOf(o)
	return v != 0 && v < r.version && o.UID() == r.uid
}

func appliesObject(p decide.Plan) bool {
	return slices.ContainsFunc(p.Steps, func(s decide.Step) bool { return s.Verb == decide.Apply || s.Verb == decide.Create })
}

// keepResult keeps the findings of a comparison that left nothing to do, and the object's health. A result that is outdated already is
// dropped, and the object is read again.
func (w *objectReconcile) keepResult() error {
	w.managed.mu.Lock()
	known := w.managed.findings
	w.managed.mu.Unlock()
	recovered, err := w.storeResult()
	if err == nil {
		w.announceEnded(known)
	}
	if errors.Is(err, errChangedBack) {
		w.reread()
		return errRepeat
	}
	if err != nil {
		return err
	}
	if recovered && !w.engine.isReleasing(w.snap.owner) {
		w.engine.queue.EnqueueApp(w.snap.owner) // what stopped its last run is over
	}
	w.engine.queue.AppChanged(w.snap.owner)
	w.engine.failuresChanged(w.snap.owner)
	w.engine.healthChanged(w.snap.owner)
	w.engine.notifyListeners()
	w.confirmLater()
	return nil
}

// errChangedBack says that what was judged is not what is there any more, although what was known before it is there again.
var errChangedBack = errors.New("it was changed back while truce judged it")

// storeResult reports whether the object had a problem until now.
func (w *objectReconcile) storeResult() (recovered bool, err error) {
	r := w.managed
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.knowsNewer(w.live) && r.fingerprint != unchanged.Fingerprint(w.engine.Hasher, w.live) {
		return false, errChangedBack
	}
	recovered = r.problem != ""
	r.open = w.leftOpen()
	r.endRequest(w.snap.request)
	for _, f := range w.plan.Findings {
		switch f.Verdict {
		case decide.Cede:
			r.memory = r.memory.WithObserved(field.PathString(f.Path), w.mask(f).Live, w.engine.Now())
		case decide.Hold, decide.Contested:
			if f.Kind != compare.Mutated {
				r.memory = r.memory.WithReversal(field.PathString(f.Path), w.engine.Now())
			}
		default:
		}
	}
	r.memory = w.withCounts(w.withLastCounts(r.memory, w.claims), w.claims, w.live)
	err = w.engine.keepMemory(r)
	r.findings, r.problem = w.masked(w.plan.Findings), ""
	w.keepOptOut()
	past := w.remembered()
	current, enforced := w.sent(), w.app.Policy.Mode == policy.Enforce
	r.past, r.postponed = &past, w.postponed
	r.state.compare(comparison{current: current, present: w.live != nil, enforced: enforced})
	if current {
		r.withheld = w.withheldNow(r.withheld)
	}
	if w.live == nil {
		r.keepAbsence(w.engine, w.healthOfAbsent())
		r.fingerprint, r.settled = 0, unchanged.State{}
		return recovered, err
	}
	if r.observed(w.live, w.engine) {
		r.keepHealth(w.engine, w.live)
	}
	if w.bearsOurMark() { // also where an earlier process died before it could write the uid down
		r.found = r.found || r.appliedUID != r.uid
		r.appliedUID, r.adoption = r.uid, w.passed()
	}
	w.forget()
	if enforced && current {
		r.previous = object.Packed{} // all that Git changed, if anything, is withheld
	}
	return recovered, err
}

// withheldNow adds to what was withheld at the last apply the fields of Git that are withheld now: another process may have made that apply, or Git may have
// named the field since, and when its claim or rule ends it is Git's again. A claimant's part of an atomic field that Git names without it goes then.
func (w *objectReconcile) withheldNow(before []field.Path) []field.Path {
	out := slices.Clone(before)
	for _, p := range w.input.CededPaths() {
		if _, named := field.ValueAt(w.snap.desired, p); (named || w.carries(p)) && !slices.ContainsFunc(out, p.Equals) {
			out = append(out, p)
		}
	}
	return out
}

// passed is the adoption in which nothing of the other controller's is left on the object: this one, once it was enforced.
func (w *objectReconcile) passed() string {
	if w.app.Policy.Mode != policy.Enforce {
		return w.snap.adoption
	}
	return w.app.Adoption.ID()
}

// bearsOurMark reports whether our own apply has put our mark on the object. A mark that was copied proves nothing.
func (w *objectReconcile) bearsOurMark() bool {
	return ownership.ApplyEntry(w.owners, ownership.Manager).Has(field.NewPath("metadata", "labels", object.PartOf))
}

// masked are the findings as a person may read them.
func (w *objectReconcile) masked(findings []decide.Finding) []report.Finding {
	out := make([]report.Finding, len(findings))
	for i, f := range findings {
		out[i] = w.mask(f)
	}
	return out
}

func (w *objectReconcile) mask(f decide.Finding) report.Finding {
	return report.MaskFinding(w.engine.Mask.With(w.snap.sensitive), w.managed.id, f)
}

// announce reports the findings that are new and not corrected, each once however many attempts find it.
func (w *objectReconcile) announce() {
	w.managed.mu.Lock()
	known := w.managed.findings
	w.managed.mu.Unlock()
	if w.app.Policy.Mode == policy.Await && w.treatment.Paused == "" && w.snap.state.isChanged() {
		return // it is Git that has changed
	}
	for _, f := range w.unsaid(known) {
		w.announceOnce(f)
	}
	for _, f := range w.plan.Findings {
		_, untold := w.snap.postponed[field.PathString(f.Path)]
		masked := w.mask(f)
		if f.Verdict != decide.Correct && !w.postpones(f, hasMoved(known, masked)) && (untold || !isKnown(known, masked)) {
			w.announceOnce(masked)
		}
	}
	w.announceReturned(known)
}

func (w *objectReconcile) announceOnce(f report.Finding) {
	if !isKnown(w.announced, f) {
		w.announced = append(w.announced, f)
		w.announceFinding(f, false)
	}
}

// announceCarried reports drift that was corrected. What Git itself changed is no drift, and what admission changed in the answer is not
// corrected.
func (w *objectReconcile) announceCarried(base compare.Baseline, answer object.Object) {
	for _, f := range w.plan.Findings {
		if f.Verdict == decide.Correct {
			w.restored = append(w.restored, f.Path)
		}
		if f.Verdict == decide.Correct && !w.isUnrestored(base, answer, f) && (!w.snap.state.isChanged() || f.Kind == compare.Added || f.Overrides == decide.Contested) {
			w.announceFinding(w.mask(f), true)
		}
	}
}

func (w *objectReconcile) announceFinding(f report.Finding, carried bool) {
	n := report.FindingEvent{
		App: w.snap.owner, ID: w.managed.id, Finding: f, Carried: carried, At: w.engine.Now(),
		Since: w.since(f.Path, f.Writer), Undone: f.Verdict != decide.Cede && w.snap.memory.WasUndone(field.PathString(f.Path), w.engine.Now()),
	}
	in := w.inGit(n)
	n.Source = w.sourceOf(in)
	w.engine.noteFinding(n, in)
	w.engine.Observer.OnFinding(n)
}

func isKnown(list []report.Finding, f report.Finding) bool {
	for _, k := range list {
		if k.Path.Equals(f.Path) && k.Verdict == f.Verdict && k.Claimant == f.Claimant && k.NotApplied == f.NotApplied && field.EqualValues(k.Live, f.Live) {
			return true
		}
	}
	return false
}
