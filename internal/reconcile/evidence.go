package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/attribution"
	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// WriterEvidence say who wrote, beside managedFields and claims. Each may be nil, and may be called concurrently.
type WriterEvidence struct {
	// Writes returns what admission saw of writes to an object, the newest first. It does not block.
	Writes func(object.ID) []attribution.Record
	// Events lists what was reported lately about one object. It is asked only for what is not explained otherwise, and at most once a
	// minute for each managed object.
	Events func(context.Context, object.ID) ([]attribution.Event, error)
	// Past reads the journal of an earlier or another process; once, when there is something to explain.
	Journal func(context.Context) ([]journal.Entry, error)
	// Delay is how long after a change that is not put back its Events are read: they are written a moment later.
	Delay time.Duration
}

// eventsEvery is how often the Events about one object are read at most.
const eventsEvery = time.Minute

// unexplained are what an object's record keeps of differences without an explanation.
type unexplained struct {
	since time.Time // zero for none
	asked time.Time // when Events were read last
}

// hear judges once more by what the witnesses say. An object without a difference costs nothing.
func (w *objectReconcile) hear(ctx context.Context, c compare.Input, d decide.Input) error {
	if len(w.plan.Findings) == 0 {
		return nil
	}
	said := w.statements(ctx)
	if err := w.rejudge(c, d, said); err != nil {
		return err
	}
	about, ask := w.doubtful(d.Claims)
	if !ask {
		return nil
	}
	events, err := w.engine.Witnesses.Events(ctx, about)
	if err != nil {
		said.Unavailable = "events: " + redact.MaskText(err.Error())
	}
	said.Events = events
	return w.rejudge(c, d, said)
}

func (w *objectReconcile) rejudge(c compare.Input, d decide.Input, said attribution.Statements) error {
	if said.Empty() {
		return nil
	}
	d.Witness = said
	again := w.plan.RetryAt
	var err error
	w.plan, err = decidePlan(c, d)
	if w.plan.RetryAt.IsZero() {
		w.plan.RetryAt = again
	}
	return err
}

// statements are what costs no request: what admission saw, and what was reported of the object before.
func (w *objectReconcile) statements(ctx context.Context) attribution.Statements {
	id := w.record.id
	var said attribution.Statements
	if w.engine.Witnesses.Writes != nil {
		said.Records = w.engine.Witnesses.Writes(id)
	}
	said.Earlier = w.said()
	p, err := w.engine.history.of(ctx, w.engine)
	if err != nil {
		said.Unavailable = "journal: " + redact.MaskText(err.Error())
	}
	said.Earlier = append(said.Earlier, p.attributions[id]...)
	if w.engine.Memories == nil { // else what this process remembers itself is right
		said.Changes = w.often(p.changes[id])
	}
	return said
}

// often counts, by field, how often another value was set within the hour, by a journal and what is live now.
func (w *objectReconcile) often(noted map[string]journal.Change) map[string]int {
	out := map[string]int{}
	for _, f := range w.plan.Findings {
		path := field.PathString(f.Path)
		c, known := noted[path]
		if out[path] = c.Times; known && !field.EqualValues(c.Live, w.engine.mask(w.record.id, f).Live) {
			out[path]++
		}
	}
	return out
}

// doubtful reports whether Events are to be read now, and about which object: a claimant, or the object itself. For what is left as it is
// they are read a moment later, when they have been written.
func (w *objectReconcile) doubtful(claims []claim.Claim) (object.ID, bool) {
	if w.engine.Witnesses.Events == nil {
		return object.ID{}, false
	}
	weak := slices.Clone(w.plan.Findings)
	weak = slices.DeleteFunc(weak, func(f decide.Finding) bool {
		return f.Writer.Evidence == ownership.Recorded || f.Verdict == decide.Reclaim || f.Kind == compare.Missing || f.Kind == compare.Mutated // no Event is about what is not there, or what admission did
	})
	r, now := w.record, w.engine.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(weak) == 0 {
		if r.unexplained != nil {
			r.unexplained.since = time.Time{}
		}
		return object.ID{}, false
	}
	if r.unexplained == nil {
		r.unexplained = &unexplained{}
	}
	if r.unexplained.since.IsZero() {
		if !slices.ContainsFunc(weak, func(f decide.Finding) bool { return !explained(r.findings, w.engine.mask(w.record.id, f)) }) {
			return object.ID{}, false
		}
		r.unexplained.since = now
	}
	if at := w.askAt(weak); now.Before(at) {
		if len(w.plan.Steps) == 0 && (w.plan.RetryAt.IsZero() || at.Before(w.plan.RetryAt)) {
			w.plan.RetryAt = at
		}
		return object.ID{}, false
	}
	r.unexplained = &unexplained{asked: now}
	return w.asks(weak, claims), true
}

// askAt is when Events may be read. The record's lock is held by the caller.
func (w *objectReconcile) askAt(weak []decide.Finding) time.Time {
	at := w.record.unexplained.since
	if !slices.ContainsFunc(weak, func(f decide.Finding) bool { return f.Verdict == decide.Correct }) {
		at = at.Add(w.engine.Witnesses.Delay)
	}
	if next := w.record.unexplained.asked.Add(eventsEvery); at.Before(next) {
		return next
	}
	return at
}

// asks is the object whose Events may explain it: an autoscaler with a claim to one of the fields, else the object itself.
func (w *objectReconcile) asks(weak []decide.Finding, claims []claim.Claim) object.ID {
	for _, f := range weak {
		for _, c := range claims {
			if c.Counts() && c.By.Kind != "" && c.Path.Equals(f.Path) {
				return c.By
			}
		}
	}
	return w.record.id
}

// explained reports whether the same difference was looked at before: as much as there is to know of it was asked for then.
func explained(known []report.Finding, f report.Finding) bool {
	return slices.ContainsFunc(known, func(k report.Finding) bool { return k.Path.Equals(f.Path) && field.EqualValues(k.Live, f.Live) })
}

// journalHistory is what a journal has about differences, by object.
type journalHistory struct {
	once         sync.Once
	err          error
	attributions map[object.ID][]attribution.EarlierAnswer // the newest first
	changes      map[object.ID]map[string]journal.Change
}

func (p *journalHistory) of(ctx context.Context, e *Engine) (*journalHistory, error) {
	if e.Witnesses.Journal == nil {
		return p, nil
	}
	p.once.Do(func() {
		var entries []journal.Entry
		if entries, p.err = e.Witnesses.Journal(ctx); p.err == nil {
			p.read(entries, e.Now())
		}
	})
	return p, p.err
}

// read takes the entries, which come in the order of time.
func (p *journalHistory) read(entries []journal.Entry, now time.Time) {
	p.attributions, p.changes = map[object.ID][]attribution.EarlierAnswer{}, map[object.ID]map[string]journal.Change{}
	seen := map[object.ID]map[string]bool{}
	for _, e := range slices.Backward(entries) {
		if e.Path == "" || e.Object == (object.ID{}) {
			continue
		}
		if seen[e.Object] == nil {
			seen[e.Object], p.changes[e.Object] = map[string]bool{}, map[string]journal.Change{}
		}
		if !seen[e.Object][e.Path] {
			seen[e.Object][e.Path] = true
			if e.What != journal.Corrected && e.What != journal.Returned { // these ended what they report
				p.attributions[e.Object] = append(p.attributions[e.Object], earlierAttribution(e))
			}
		}
	}
	for _, c := range journal.Changes(entries, now.Add(-fight.Window)) {
		p.changes[c.Object][c.Path] = c
	}
}

// earlierAttribution is an entry as a witness's word.
func earlierAttribution(e journal.Entry) attribution.EarlierAnswer {
	w := ownership.Writer{
		Name: e.Writer, Manager: e.Manager, Person: e.Person, User: e.User, During: e.During, Time: e.Written, AtLatest: e.AtLatest, Before: e.Before,
		Evidence: ownership.Evidence(e.Evidence), Because: append(slices.Clone(e.Because), fmt.Sprintf("journal: seen at %s", e.At.UTC().Format(time.RFC3339))),
	}
	return attribution.EarlierAnswer{Path: e.Path, Live: redact.HideValue(e.Live), Writer: w}
}
