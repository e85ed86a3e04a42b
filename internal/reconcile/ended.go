package reconcile

import (
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/pairing"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// announceReturned notes, of an object that is only observed, what has differed and is as Git wants again: another one puts it back. It says
// who has fought over a field before truce enforces anything.
func (w *objectReconcile) announceReturned(known []report.Finding) {
	w.managed.mu.Lock()
	same := w.managed.state.compared // else it is Git that has changed
	w.managed.mu.Unlock()
	if w.app.Policy.Mode != policy.Observe || !same || w.live == nil {
		return
	}
	for _, f := range known {
		if !w.finds(f.Path) && !isKnown(w.returned, f) {
			w.returned = append(w.returned, f)
			w.noteReturned(f)
		}
	}
}

// announceEnded notes which fields of an enforced object were left until now, and why they are no more: another one put them back, Git has
// changed, or the object is gone. What truce corrects as drift is noted as that.
func (w *objectReconcile) announceEnded(known []report.Finding) {
	if w.app.Policy.Mode == policy.Observe {
		return
	}
	for _, f := range known {
		if !wasLeft(f) || w.finds(f.Path) {
			continue
		}
		git, named := field.ValueAt(w.snap.desired, f.Path)
		isGits := !named && f.Desired == nil || named && field.EqualValues(w.shown(f.Path, git), f.Desired)
		switch {
		case w.live == nil:
			w.noteEnded(f, "the object is gone")
		case !isGits && !named:
			w.noteEnded(f, "Git no longer names it")
		case !isGits:
			f.Desired = w.shown(f.Path, git)
			w.noteEnded(f, "Git has a new value")
		case slices.ContainsFunc(w.restored, f.Path.Equals): // noted as a correction
		default:
			w.noteReturned(f)
		}
	}
}

// finds reports whether the plan has a finding of the field.
func (w *objectReconcile) finds(p field.Path) bool {
	return slices.ContainsFunc(w.plan.Findings, func(f decide.Finding) bool { return f.Path.Equals(p) })
}

// shown is a value of the field as people may see it.
func (w *objectReconcile) shown(p field.Path, v any) any {
	return w.engine.Mask.With(w.snap.sensitive).Show(w.managed.id, p, redact.HideValue(v))
}

// noteReturned notes that a field that was left is as Git wants again, and who set it.
func (w *objectReconcile) noteReturned(f report.Finding) {
	now := w.liveValue(f.Path)
	f.Live, f.Writer = w.shown(f.Path, now), w.writerNow(f.Path, redact.HideValue(now), w.managed.id)
	w.engine.noteEnd(w.snap.owner, w.managed.id, f, journal.Entry{What: journal.Returned, Reason: "as Git wants again"})
}

// liveValue returns the live value of a field of Git's: in a list without keys that of the same item, wherever it stands.
func (w *objectReconcile) liveValue(p field.Path) any {
	at, paired := pairing.NewPairs(w.snap.desired, w.live, append(w.input.CededPaths(), p)).InLive(p)
	if !paired {
		return nil
	}
	v, _ := field.ValueAt(w.live, at)
	return v
}

func (w *objectReconcile) noteEnded(f report.Finding, why string) {
	w.engine.noteEnd(w.snap.owner, w.managed.id, f, journal.Entry{What: journal.Ended, Reason: why})
}

// wasLeft reports whether a finding is one of a field that was held or contested.
func wasLeft(f report.Finding) bool {
	return (f.Verdict == decide.Hold || f.Verdict == decide.Contested) && len(f.Path) > 0
}

// noteLeft notes which fields were left until now of objects that the app no longer describes.
func (e *Engine) noteLeft(key app.Key, ids []object.ID) {
	for _, id := range ids {
		r := e.lookup(id)
		if r == nil {
			continue
		}
		r.mu.Lock()
		known := r.findings
		r.mu.Unlock()
		for _, f := range known {
			if wasLeft(f) {
				e.noteEnd(key, id, f, journal.Entry{What: journal.Ended, Reason: "Git no longer has the object"})
			}
		}
	}
}
