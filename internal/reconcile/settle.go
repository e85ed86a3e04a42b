package reconcile

import (
	"context"
	"errors"

	"github.com/truce-gitops/truce/internal/act"
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/fight"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
	"github.com/truce-gitops/truce/internal/redact"
)

// act makes the plan's writes. A stale judgement is no error: the object is read and judged again.
func (w *walk) act(ctx context.Context) error {
	t := act.Target{GVK: w.snap.gvk, ID: w.record.id}
	answer, err := act.Carry(ctx, w.engine.Writer, t, w.live, w.plan.Steps)
	if errors.Is(err, act.ErrStale) || errors.Is(err, act.ErrGone) {
		w.reread()
		return nil
	}
	if err != nil {
		return err
	}
	owners, err := ownership.Entries(answer)
	if err != nil {
		return err
	}
	w.learn(answer, owners)
	w.announceCarried()
	if w.live == nil && w.snap.hadHome {
		w.engine.Rerun(w.snap.owner) // the inventory has the uid of the one that is gone
	}
	w.live, w.owners = answer, owners
	return nil
}

// learn keeps what the server's answer teaches: the new baseline, or that an apply does not restore a field.
func (w *walk) learn(answer object.Object, owners []ownership.Entry) {
	e, r := w.engine, w.record
	memory, stuck := w.remember(answer, owners)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory = memory
	e.keepMemory(r)
	r.saw(answer, e)
	if !applies(w.plan) {
		return
	}
	r.made, r.withheld = answer.UID(), w.plan.Withheld
	if !stuck {
		r.baseline = compare.Settle(answer, owners, e.Hasher)
	}
	if w.sent() {
		r.changed, r.applied, r.previous = false, true, object.Packed{}
	}
}

// sent reports whether what was judged is still what Git wants: a run may have brought a newer object meanwhile.
func (w *walk) sent() bool {
	return w.record.sum == w.snap.sum
}

func (r *record) saw(o object.Object, e *Engine) {
	if uid := o.UID(); uid == r.made {
		r.uid = r.made // no second copy
	} else if uid != r.uid {
		r.uid = uid
	}
	r.version = versionOf(o)
	r.fingerprint = live.Fingerprint(e.Hasher, o)
	if p := r.pending; p != nil && !p.Gone && p.Object.UID() == r.uid && r.knows(versionOf(p.Object)) {
		r.pending = nil // the watch was quicker than the answer
	}
}

func applies(p decide.Plan) bool {
	for _, s := range p.Steps {
		if s.Verb == decide.Apply || s.Verb == decide.Create {
			return true
		}
	}
	return false
}

// remember notes each correction. Where Git has not changed and the answer still differs from the baseline, the apply
// does not restore the field, and repeating it would be a fight with the API server itself.
func (w *walk) remember(answer object.Object, owners []ownership.Entry) (fight.Memory, bool) {
	m := w.snap.memory
	if w.snap.changed {
		return m.Settled(), false
	}
	left, err := compare.Object(compare.Input{
		Desired: w.snap.desired, Live: answer, Owners: owners, Baseline: w.snap.baseline, Hasher: w.engine.Hasher,
	})
	stuck := false
	for _, f := range w.plan.Findings {
		if f.Verdict != decide.Correct {
			continue
		}
		path := field.String(f.Path)
		m = m.Corrected(path, f.Opponent(), w.engine.Now())
		if err == nil && len(f.Path) > 0 && differs(left.Differences, f.Path) {
			v, _ := field.Get(answer, f.Path)
			m, stuck = m.Stuck(path, w.engine.Hasher.Value(v)), true
		}
	}
	return m, stuck
}

func differs(list []compare.Difference, p field.Path) bool {
	for _, d := range list {
		if d.Path.Equals(p) {
			return true
		}
	}
	return false
}

// rest keeps the findings of a judgement that left nothing to do, and the object's health.
func (w *walk) rest() {
	if w.settle() {
		w.engine.Rerun(w.snap.owner) // what stopped its last run is over
	}
	w.engine.Changed(w.snap.owner)
	w.engine.spread()
}

// settle reports whether the object had a problem until now.
func (w *walk) settle() (recovered bool) {
	r := w.record
	r.mu.Lock()
	defer r.mu.Unlock()
	recovered = r.problem != ""
	for _, f := range w.plan.Findings {
		switch f.Verdict {
		case decide.Cede:
			r.memory = r.memory.Seen(field.String(f.Path), f.Live)
		case decide.Hold, decide.Contested:
			r.memory = r.memory.Reversed(field.String(f.Path), w.engine.Now())
		default:
		}
	}
	w.engine.keepMemory(r)
	r.findings, r.problem = w.masked(w.plan.Findings), ""
	r.judged = w.sent()
	r.health = w.engine.assess(w.live)
	if w.live == nil {
		r.fingerprint, r.applied = 0, false
		return recovered
	}
	r.saw(w.live, w.engine)
	if w.bearsOurMark() { // also where an earlier process died before it could write the uid down
		r.made = r.uid
	}
	if w.app.Policy.Mode == app.Enforce && w.sent() {
		r.changed, r.previous = false, object.Packed{} // all that Git changed, if anything, is withheld
	}
	r.applied = r.applied || !r.changed
	return recovered
}

// bearsOurMark reports whether our own apply has put our mark on the object. A mark that was copied proves nothing.
func (w *walk) bearsOurMark() bool {
	return ownership.ApplyEntry(w.owners, ownership.Manager).Has(field.Name("metadata", "labels", object.PartOf))
}

// failed keeps why an object could not be brought in line. The next event, revision or full check tries again.
func (w *walk) failed(err error) error {
	w.keepProblem(err)
	w.engine.Changed(w.snap.owner)
	w.engine.spread()
	return err
}

func (w *walk) keepProblem(err error) {
	r := w.record
	r.mu.Lock()
	defer r.mu.Unlock()
	r.problem = redact.Text(err.Error())
	r.findings = w.masked(w.plan.Findings)
	if w.live != nil {
		r.health = w.engine.assess(w.live)
	}
}

// masked are the findings as a person may read them.
func (w *walk) masked(findings []decide.Finding) []decide.Finding {
	out := make([]decide.Finding, len(findings))
	for i, f := range findings {
		out[i] = w.engine.mask(w.record.id, f)
	}
	return out
}

func (e *Engine) mask(id object.ID, f decide.Finding) decide.Finding {
	f.Desired, f.Live = e.Mask.Value(id, f.Path, f.Desired), e.Mask.Value(id, f.Path, f.Live)
	return f
}

// announce tells of findings that are new and left as they are.
func (w *walk) announce() {
	w.record.mu.Lock()
	known := w.record.findings
	w.record.mu.Unlock()
	if w.app.Policy.Mode == app.Await && w.snap.changed {
		return // it is Git that has changed
	}
	for _, f := range w.plan.Findings {
		if f.Verdict != decide.Correct && !isKnown(known, w.engine.mask(w.record.id, f)) {
			w.tell(f, false)
		}
	}
}

// announceCarried tells of drift that was put back. What Git itself changed is no drift.
func (w *walk) announceCarried() {
	for _, f := range w.plan.Findings {
		if f.Verdict == decide.Correct && !w.snap.changed {
			w.tell(f, true)
		}
	}
}

func (w *walk) tell(f decide.Finding, carried bool) {
	n := Notice{App: w.snap.owner, ID: w.record.id, Finding: w.engine.mask(w.record.id, f), Carried: carried, At: w.engine.Now()}
	w.engine.noteFinding(n)
	w.engine.Tell(n)
}

func isKnown(list []decide.Finding, f decide.Finding) bool {
	for _, k := range list {
		if k.Path.Equals(f.Path) && k.Verdict == f.Verdict && k.Claimant == f.Claimant && field.Equal(k.Live, f.Live) {
			return true
		}
	}
	return false
}
