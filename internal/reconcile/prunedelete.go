package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/report"
)

// candidate is what is there under an entry of the inventory.
type candidate struct {
	decide.PruneCandidate
	entry  inventory.Entry
	target apply.Target
	wave   int
}

// read reads what is there under an entry of the inventory. It may be called concurrently.
func (s *pruneRun) read(ctx context.Context, entry inventory.Entry) (candidate, error) {
	if s.denied != nil {
		return candidate{}, s.denied
	}
	gvk, namedBy := object.GVK{Group: entry.ID.Group, Version: entry.Version, Kind: entry.ID.Kind}, ""
	if other, named := s.engine.namedBy(entry.ID, s.app); named {
		namedBy = other.String()
	}
	o, err := s.access.Live.Get(ctx, gvk, entry.ID)
	if errors.Is(err, live.ErrNotFound) {
		o, err = nil, nil
	}
	if err != nil {
		return candidate{}, fmt.Errorf("read %s: %w", entry.ID, err)
	}
	c := candidate{
		PruneCandidate: decide.PruneCandidate{ID: entry.ID, UID: entry.UID, Live: o, Denied: s.bound.ProjectRefusal(entry.ID), NamedBy: namedBy},
		entry:          entry,
		target:         apply.Target{GVK: gvk, ID: entry.ID, UID: o.UID(), ResourceVersion: o.ResourceVersion(), Propagation: s.propagation},
		wave:           optout.PlaceOf(o, s.waveKeys),
	}
	if s.from.Takes() {
		c.Inherited, _ = s.from.OwnerOf(o)
	}
	return c, nil
}

func (s *pruneRun) take(c candidate) {
	s.entries[c.ID], s.waves[c.ID], s.targets[c.ID] = c.entry, c.wave, c.target
}

// reading is what came of the read of an entry.
type reading struct {
	candidate
	err error
}

// readEntries reads what is there under entries of the inventory, several at once, and takes in what was read. The results are in the order of the entries.
func (s *pruneRun) readEntries(ctx context.Context, entries []inventory.Entry) []reading {
	out := make([]reading, len(entries))
	s.engine.eachAtOnce(len(entries), func(i int) { out[i].candidate, out[i].err = s.read(ctx, entries[i]) })
	for _, r := range out {
		if r.err == nil {
			s.take(r.candidate)
		}
	}
	return out
}

// readCandidates takes in what the run is to judge. An entry whose kind is not served any more cannot be deleted, and stays in the inventory; so does one that
// this app cannot read and another one names.
func (s *pruneRun) readCandidates(ctx context.Context, entries []inventory.Entry) error {
	for i, r := range s.readEntries(ctx, entries) {
		_, named := s.engine.namedBy(entries[i].ID, s.app)
		switch {
		case r.err == nil:
			s.in.Gone = append(s.in.Gone, r.PruneCandidate)
		case named, errors.Is(r.err, live.ErrUnknownKind):
		default:
			return r.err
		}
	}
	return nil
}

// eachAtOnce calls a function for each of so many objects of an app, of as many of them at once as the engine reconciles, and returns when all calls have.
func (e *Engine) eachAtOnce(n int, do func(i int)) {
	var g errgroup.Group
	g.SetLimit(max(1, e.ObjectsAtOnce))
	for i := range n {
		g.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = g.Wait() // the functions return no error
}

// deleteWave deletes objects in their order. Those of a kind that follow each other are deleted at once: what is of another kind may need them until it is
// gone, as the app's account needs its RoleBindings.
func (s *pruneRun) deleteWave(ctx context.Context, wave pruneWave) error {
	var all pruneFailures
	for left := wave.ids; len(left) > 0; {
		n := 1
		for n < len(left) && left[n].Group == left[0].Group && left[n].Kind == left[0].Kind {
			n++
		}
		s.deleteAlike(ctx, left[:n], &all)
		left = left[n:]
	}
	if len(all.cutOff) > 0 {
		all.errs = append(all.errs, fmt.Errorf("%d of %d objects are not deleted yet, such as %s: %w", len(all.cutOff), len(wave.ids), all.cutOff[0], ctx.Err()))
	}
	if len(all.errs) > 0 {
		return &stageError{report.PruneFailed, errors.Join(all.errs...)}
	}
	return nil
}

// pruneFailures are why objects were not deleted.
type pruneFailures struct {
	errs   []error
	cutOff []object.ID // for the end of the run's time alone, which is said once
}

func (f *pruneFailures) add(ctx context.Context, id object.ID, err error) {
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		f.cutOff = append(f.cutOff, id)
	default:
		f.errs = append(f.errs, fmt.Errorf("prune %s: %w", id, err))
	}
}

// deleteAlike deletes objects whose order does not matter. Each is written into the journal at once: the process may be killed before the others are deleted.
func (s *pruneRun) deleteAlike(ctx context.Context, ids []object.ID, failed *pruneFailures) {
	ends := make([]deletion, len(ids))
	s.engine.eachAtOnce(len(ids), func(i int) {
		if ends[i] = s.delete(ctx, s.entries[ids[i]], s.targets[ids[i]]); ends[i].end == deletionDone {
			s.notePruned(ids[i])
		}
	})
	for i, id := range ids {
		failed.add(ctx, id, s.takeEnd(id, ends[i]))
	}
}

// deletion is how the deletion of one object has ended.
type deletion struct {
	end    deletionEnd
	judged *candidate       // again, as it had changed; nil for not
	plan   decide.PrunePlan // of that
	err    error            // of deletionFailed
}

type deletionEnd string

// The values of deletionEnd.
const (
	deletionDone     deletionEnd = "done"        // the object is deleted, or was
	deletionPassed   deletionEnd = "handed over" // another app has it, or waits for it
	deletionStopped  deletionEnd = "stopped"     // it is no longer to be deleted
	deletionUnserved deletionEnd = "unserved"    // its CustomResourceDefinition has gone since the plan was made
	deletionFailed   deletionEnd = "failed"
)

// delete deletes one object. One that has changed since it was judged, as each status write changes it, is read and judged again;
// that it may go as far as the number of objects is concerned has been decided. It may be called concurrently, and takes nothing in.
func (s *pruneRun) delete(ctx context.Context, entry inventory.Entry, target apply.Target) deletion {
	out := deletion{end: deletionFailed}
	for stale := range maxTries {
		if s.isPassed(entry.ID) {
			out.end = deletionPassed
			return out
		}
		_, out.err = apply.ExecuteStep(ctx, s.access.Writer, target, nil, decide.Step{Verb: decide.Prune, Reason: s.why})
		if out.err == nil || errors.Is(out.err, apply.ErrGone) {
			out.end, out.err = deletionDone, nil
			return out
		}
		if !errors.Is(out.err, apply.ErrStale) {
			return out
		}
		if out.err = pauseStale(ctx, stale+1); out.err != nil {
			return out
		}
		if out = s.judgeAgain(ctx, entry); out.err != nil || out.end != deletionFailed {
			return out
		}
		target = out.judged.target
	}
	out.err = apply.ErrStale
	return out
}

// judgeAgain reads an object once more, and judges it by the rules of the run. One that is still to be deleted comes back as failed without an error: it
// has not been deleted yet. Of the plan of one object its Held is not looked at, but for a confirmation that no object has asked for before.
func (s *pruneRun) judgeAgain(ctx context.Context, entry inventory.Entry) deletion {
	again, err := s.read(ctx, entry)
	if errors.Is(err, live.ErrUnknownKind) {
		return deletion{end: deletionUnserved}
	}
	if err != nil {
		return deletion{end: deletionFailed, err: err}
	}
	in := s.in
	in.Gone = []decide.PruneCandidate{again.PruneCandidate}
	out := deletion{end: deletionFailed, judged: &again, plan: decide.PlanPrune(in)}
	switch {
	case len(out.plan.Delete) == 0:
		out.end = deletionStopped
	case out.plan.IsUnconfirmed() && !s.plan.IsUnconfirmed() && !in.AppDeleted:
		return deletion{end: deletionFailed, err: errors.New("it asks for a confirmation now")}
	}
	return out
}

// takeEnd takes in how the deletion of an object has ended.
func (s *pruneRun) takeEnd(id object.ID, d deletion) error {
	if d.judged != nil {
		s.take(*d.judged)
		s.forget = append(s.forget, d.plan.Forget...)
	}
	switch d.end {
	case deletionDone:
		s.noteDeleted(id)
	case deletionPassed:
		if s.spare(id); s.in.AppDeleted {
			s.forget = append(s.forget, id)
		}
	case deletionStopped:
		maps.Copy(s.kept, d.plan.Keep)
		s.spare(id)
	case deletionUnserved, deletionFailed:
	}
	return d.err
}

// spare takes an object out of what is to be deleted.
func (s *pruneRun) spare(id object.ID) {
	s.plan.Delete = slices.DeleteFunc(slices.Clone(s.plan.Delete), func(other object.ID) bool { return other == id })
}

// noteDeleted takes in that an object was deleted.
func (s *pruneRun) noteDeleted(id object.ID) {
	s.deleted = append(s.deleted, s.entries[id])
	if !s.awaits {
		s.forget = append(s.forget, id)
	}
}
