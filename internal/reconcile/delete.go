package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/act"
	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/desired"
	"github.com/truce-gitops/truce/internal/inventory"
	"github.com/truce-gitops/truce/internal/live"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/report"
)

// sweeping is one judgement of what left Git, and what came of it.
type sweeping struct {
	engine  *Engine
	in      decide.SweepInput
	entries map[object.ID]inventory.Entry
	targets map[object.ID]act.Target
	gone    []object.ID // what the inventory may forget, and what is remembered of it
	passed  []object.ID // what the inventory may forget because another app has it now
	deleted []inventory.Entry
	kept    map[object.ID]decide.Kept
}

func (e *Engine) newSweep(a app.App, total int) *sweeping {
	return &sweeping{
		engine: e, entries: map[object.ID]inventory.Entry{}, targets: map[object.ID]act.Target{},
		in: decide.SweepInput{Total: total, Mark: desired.Mark(a.Key), Policy: a.Prune, Approved: a.Approved, Whole: a.Deleting},
	}
}

// stillThere returns those of the entries that are in the cluster, and ours. It writes nothing.
func (e *Engine) stillThere(ctx context.Context, a app.App, left []inventory.Entry) ([]report.Listed, error) {
	s := e.newSweep(a, len(left))
	for _, entry := range left {
		g, err := s.look(ctx, entry)
		if errors.Is(err, live.ErrUnknownKind) {
			continue
		}
		if err != nil {
			return nil, &fault{report.ClusterFailed, err}
		}
		s.in.Gone = append(s.in.Gone, g)
	}
	kept := decide.SweepAll(s.in).Keep
	there := slices.DeleteFunc(slices.Clone(left), func(entry inventory.Entry) bool { return kept[entry.ID].Why == "" })
	return leaving(there, kept), nil
}

// Leaving returns which entries of an app's inventory are to be pruned, or count as a difference although they stay, and which counts drop
// with them. It writes nothing. One that cannot be read is among them.
func (e *Engine) Leaving(ctx context.Context, a app.App, left []inventory.Entry) ([]object.ID, []string) {
	s := e.newSweep(a, len(left))
	unread := map[object.ID]bool{}
	for _, entry := range left {
		g, err := s.look(ctx, entry)
		unread[entry.ID] = err != nil
		if err == nil {
			s.in.Gone = append(s.in.Gone, g)
		}
	}
	plan := decide.SweepAll(s.in)
	var ids []object.ID
	var listed []report.Listed
	for _, entry := range left {
		if unread[entry.ID] || slices.Contains(plan.Delete, entry.ID) || plan.Keep[entry.ID].Counts == decide.Leaving {
			ids, listed = append(ids, entry.ID), append(listed, report.Listed{ID: entry.ID})
		}
	}
	return ids, e.dropNotes(listed)
}

// sweepOut judges and deletes entries of an app's inventory, and returns what came of it.
func (e *Engine) sweepOut(ctx context.Context, a app.App, ledger *inventory.Record, left []inventory.Entry) (*sweeping, error) {
	s := e.newSweep(a, len(ledger.Entries))
	for _, entry := range left {
		if e.passOn(entry.ID) {
			s.passed = append(s.passed, entry.ID)
			continue
		}
		g, err := s.look(ctx, entry)
		if errors.Is(err, live.ErrUnknownKind) {
			continue // with its CRD, or out of reach with its API: not to be deleted, and remembered until somebody knows
		}
		if err != nil {
			return s, &fault{report.PruneFailed, err}
		}
		s.in.Gone = append(s.in.Gone, g)
	}
	plan := decide.SweepAll(s.in)
	s.kept = plan.Keep
	if plan.Held == "" {
		e.announceEnds(plan.Delete)
	}
	swept := s.carry(ctx, plan)
	for _, id := range s.gone {
		e.forgetMemory(id)
	}
	*ledger = inventory.Without(*ledger, append(s.gone, s.passed...))
	if a.Deleting && swept == nil {
		return s, nil // the record goes as a whole
	}
	if err := e.save(ctx, *ledger); err != nil {
		return s, &fault{report.RecordFailed, errors.Join(err, swept)}
	}
	return s, swept
}

// look reads what is there under an entry of the inventory.
func (s *sweeping) look(ctx context.Context, entry inventory.Entry) (decide.Gone, error) {
	gvk := object.GVK{Group: entry.ID.Group, Version: entry.Version, Kind: entry.ID.Kind}
	o, err := s.engine.Live.Get(ctx, gvk, entry.ID)
	if errors.Is(err, live.ErrNotFound) {
		o, err = nil, nil
	}
	if err != nil {
		return decide.Gone{}, fmt.Errorf("read %s: %w", entry.ID, err)
	}
	s.entries[entry.ID] = entry
	s.targets[entry.ID] = act.Target{GVK: gvk, ID: entry.ID, UID: o.UID(), ResourceVersion: o.ResourceVersion()}
	return decide.Gone{ID: entry.ID, UID: entry.UID, Live: o}, nil
}

func (s *sweeping) carry(ctx context.Context, plan decide.Sweep) error {
	s.gone = append(s.gone, plan.Forget...)
	if plan.Held != "" {
		return &fault{report.PruneHeld, errors.New(plan.Held)}
	}
	last := func(a, b object.ID) int { return desired.WaveOf(s.targets[b].GVK) - desired.WaveOf(s.targets[a].GVK) }
	slices.SortStableFunc(plan.Delete, last) // a kind behind its objects, a namespace behind what is in it
	var failed []error
	for _, id := range plan.Delete {
		if err := s.delete(ctx, id); err != nil {
			failed = append(failed, fmt.Errorf("prune %s: %w", id, err))
		}
	}
	if len(failed) > 0 {
		return &fault{report.PruneFailed, errors.Join(failed...)}
	}
	return nil
}

// delete deletes one object. One that has changed since it was judged, as each status write changes it, is read and judged again;
// that it may go as far as the number of objects is concerned has been decided.
func (s *sweeping) delete(ctx context.Context, id object.ID) error {
	for stale := range maxTries {
		err := s.engine.Writer.Delete(ctx, s.targets[id])
		if err == nil || errors.Is(err, act.ErrGone) {
			s.gone = append(s.gone, id)
			s.deleted = append(s.deleted, s.entries[id])
			return nil
		}
		if !errors.Is(err, act.ErrStale) {
			return err
		}
		if err := breathe(ctx, stale+1); err != nil {
			return err
		}
		g, err := s.look(ctx, s.entries[id])
		if errors.Is(err, live.ErrUnknownKind) {
			return nil // since a moment ago; as in sweepOut
		}
		if err != nil {
			return err
		}
		again := s.in
		again.Gone, again.Whole = []decide.Gone{g}, true
		plan := decide.SweepAll(again)
		s.gone = append(s.gone, plan.Forget...)
		if len(plan.Delete) == 0 {
			return nil
		}
	}
	return act.ErrStale
}
