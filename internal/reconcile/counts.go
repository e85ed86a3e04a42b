package reconcile

import (
	"slices"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
)

// withCounts returns the memory after the ceded counts of an object were seen: a new object starts with them. No finding has a count that Git does not
// name, or that is Git's at present. A count of 0 by which a person pauses the workload is none to start with.
func (w *objectReconcile) withCounts(m fight.Memory, claims []claim.Claim, live object.Object) fight.Memory {
	if w.app.Policy.Claims != policy.ClaimsCede {
		return m
	}
	for _, c := range claims {
		v, there := field.ValueAt(live, c.Path)
		if !c.Counts() || !there || c.Paused(v) {
			continue
		}
		shown := w.mask(decide.Finding{Difference: compare.Difference{Path: c.Path, Live: redact.HideValue(v)}})
		m = m.WithObserved(field.PathString(c.Path), shown.Live, w.engine.Now())
	}
	return m
}

// withLastCounts returns the memory with the counts that a deleted object had at its end, which may be newer than what was compared.
func (w *objectReconcile) withLastCounts(m fight.Memory, claims []claim.Claim) fight.Memory {
	if w.live != nil || w.last == nil {
		return m
	}
	return w.withCounts(m, claims, w.last)
}

// countDrop is a count that falls to Git's when its claim ends.
type countDrop struct {
	app     app.Key
	id      object.ID
	finding report.Finding
}

// lowersCount reports whether Git's count is less than the live one.
func lowersCount(f report.Finding) bool {
	git, named := f.Desired.(int64)
	live, there := f.Live.(int64)
	return named && there && git < live
}

// announceDrops announces, before the write, that counts fall because the claim on them has ended.
func (w *objectReconcile) announceDrops() {
	w.managed.mu.Lock()
	known := w.managed.findings
	w.managed.mu.Unlock()
	for _, f := range w.plan.Findings {
		i := slices.IndexFunc(known, func(k report.Finding) bool { return k.Path.Equals(f.Path) && claimantOf(k) != "" })
		if masked := w.mask(f); i >= 0 && f.Verdict == decide.Correct && lowersCount(masked) && !isKnown(w.announced, masked) {
			w.announced = append(w.announced, masked)
			w.engine.announceDrop(countDrop{w.snap.owner, w.managed.id, masked}, claimantOf(known[i]))
		}
	}
}

// claimantOf names whose count a finding is about: the claimant of one that is ceded, and of one that is held since the claim has ended, because the app
// corrects no drift before its next release, who has scaled it last; empty for a person, and where it is no count.
func claimantOf(k report.Finding) string {
	switch {
	case k.Verdict == decide.Cede && k.NotApplied != "" && k.Remedy != "":
		return k.Claimant
	case k.Verdict == decide.Hold && k.Writer.Subresource == "scale" && !k.Writer.Person:
		return k.Writer.Name
	}
	return ""
}

// announceEnds announces, before claimants are pruned, which counts fall with that.
func (e *Engine) announceEnds(pruned []object.ID) {
	for _, id := range pruned {
		for _, d := range e.dropsWithout(id) {
			e.announceDrop(d, claim.Claim{By: id}.Name())
		}
	}
}

func (e *Engine) announceDrop(d countDrop, claimant string) {
	e.Observer.OnFinding(report.FindingEvent{App: d.app, ID: d.id, Finding: d.finding, Without: claimant, At: e.Now()})
}

// dropsWithout lists the managed counts that fall to Git's when an object is gone.
func (e *Engine) dropsWithout(id object.ID) []countDrop {
	if !slices.ContainsFunc(e.Catalogue().Kinds(), func(g object.GVK) bool { return g.Group == id.Group && g.Kind == id.Kind }) {
		return nil
	}
	name := claim.Claim{By: id}.Name()
	e.mu.RLock()
	defer e.mu.RUnlock()
	var out []countDrop
	for _, r := range e.objects {
		r.mu.Lock()
		for _, f := range r.findings {
			if f.Verdict == decide.Cede && f.Claimant == name && lowersCount(f) {
				out = append(out, countDrop{r.owner, r.id, f})
			}
		}
		r.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b countDrop) int { return a.id.Compare(b.id) })
	return out
}

// dropNotes says which counts fall when claimants that Git no longer names are pruned.
func (e *Engine) dropNotes(leaving []report.ListedObject) []string {
	var out []string
	for _, l := range leaving {
		for _, d := range e.dropsWithout(l.ID) {
			out = append(out, d.finding.CountDropWarning(d.id, claim.Claim{By: l.ID}.Name()))
		}
	}
	return out
}
