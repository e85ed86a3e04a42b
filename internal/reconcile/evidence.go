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

// WriterEvidence shows who wrote, beside managedFields and claims. Each may be nil, and may be called concurrently.
type WriterEvidence struct {
	Writes  writeLog
	Events  eventReader
	Journal journalReader // of an earlier or another process
	// Delay is how long after a change that is not corrected its Events are read: they are written a moment later.
	Delay time.Duration
}

// writeLog has the writes that admission saw. It does not block.
type writeLog interface {
	// Of returns the writes to an object, the newest first.
	Of(id object.ID) []attribution.Record
}

// eventReader reads Events. It is called only for differences without another explanation, and at most once a minute for each managed object.
type eventReader interface {
	// Of lists the recent Events about one object.
	Of(ctx context.Context, id object.ID) ([]attribution.Event, error)
}

// journalReader reads a journal, once, when there is something to explain.
type journalReader interface {
	Entries(ctx context.Context) ([]journal.Entry, error)
}

// eventsEvery is how often the Events about one object are read at most.
const eventsEvery = time.Minute

// unexplained says when differences without a known writer were first seen, and when Events were read for them.
type unexplained struct {
	since time.Time // zero for none
	asked time.Time // when Events were read last
}

// addEvidence makes the plan again with the evidence of who wrote. An object without a difference costs nothing.
func (w *objectReconcile) addEvidence(ctx context.Context) {
	if len(w.plan.Findings) == 0 {
		return
	}
	said := w.statements(ctx)
	w.decideWith(said)
	about, ask := w.doubtful(w.input.Claims)
	if !ask {
		return
	}
	events, err := w.engine.Witnesses.Events.Of(ctx, about)
	if err != nil {
		said.Unavailable = "events: " + redact.MaskText(err.Error())
	}
	said.Events = events
	w.decideWith(said)
}

func (w *objectReconcile) decideWith(said attribution.Statements) {
	if said.Empty() {
		return
	}
	again := w.plan.RetryAt
	in := w.input
	in.Witness = said
	w.plan = decide.JudgeObject(in)
	if w.plan.RetryAt.IsZero() {
		w.plan.RetryAt = again
	}
}

// statements returns the evidence that costs no request: what admission saw, and what was reported of the object before.
func (w *objectReconcile) statements(ctx context.Context) attribution.Statements {
	id := w.managed.id
	var said attribution.Statements
	if w.engine.Witnesses.Writes != nil {
		said.Records = w.engine.Witnesses.Writes.Of(id)
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

// often counts, by field, how often another value was set within the hour, by the journal and the live value.
func (w *objectReconcile) often(noted map[string]journal.Change) map[string]int {
	out := map[string]int{}
	for _, f := range w.plan.Findings {
		path := field.PathString(f.Path)
		c, known := noted[path]
		if out[path] = c.Times; known && !field.EqualValues(c.Live, w.mask(f).Live) {
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
	r, now := w.managed, w.engine.Now()
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
		if !slices.ContainsFunc(weak, func(f decide.Finding) bool { return !explained(r.findings, w.mask(f)) }) {
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
	at := w.managed.unexplained.since
	if !slices.ContainsFunc(weak, func(f decide.Finding) bool { return f.Verdict == decide.Correct }) {
		at = at.Add(w.engine.Witnesses.Delay)
	}
	if next := w.managed.unexplained.asked.Add(eventsEvery); at.Before(next) {
		return next
	}
	return at
}

// asks returns the object whose Events may explain the difference: an autoscaler that claims one of the fields, else the object itself.
func (w *objectReconcile) asks(weak []decide.Finding, claims []claim.Claim) object.ID {
	for _, f := range weak {
		for _, c := range claims {
			if c.Counts() && c.By.Kind != "" && c.Path.Equals(f.Path) {
				return c.By
			}
		}
	}
	return w.managed.id
}

// explained reports whether the same difference was looked at before: as much as there is to know of it was asked for then.
func explained(known []report.Finding, f report.Finding) bool {
	return slices.ContainsFunc(known, func(k report.Finding) bool { return k.Path.Equals(f.Path) && field.EqualValues(k.Live, f.Live) })
}

// journalHistory is the differences in a journal, by object.
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
		if entries, p.err = e.Witnesses.Journal.Entries(ctx); p.err == nil {
			p.read(entries, e.Now())
		}
	})
	return p, p.err
}

// read takes the entries, which come in the order of time.
func (p *journalHistory) read(entries []journal.Entry, now time.Time) {
	entries = slices.DeleteFunc(slices.Clone(entries), func(e journal.Entry) bool { return e.Cluster != "" })
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
			if e.What != journal.Corrected && e.What != journal.Returned && e.What != journal.Ended { // these ended the difference
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
