package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// sweeping is one judgement of what left Git, and what came of it.
type sweeping struct {
	engine  *Engine
	from    app.Adoption
	access  tenancy.Access // of the app's account
	denied  error          // there is no such access
	in      decide.SweepInput
	plan    decide.Sweep
	entries map[object.ID]inventory.Entry
	targets map[object.ID]apply.Target
	gone    []object.ID // what the inventory may forget, and what is remembered of it
	passed  []object.ID // what the inventory may forget because another app has it now
	deleted []inventory.Entry
	kept    map[object.ID]decide.Kept
}

func (e *Engine) newSweep(a app.App, total int) *sweeping {
	s := &sweeping{
		engine: e, from: a.Adoption, entries: map[object.ID]inventory.Entry{}, targets: map[object.ID]apply.Target{},
		in: decide.SweepInput{
			Total: total, Mark: desired.Mark(a.Key), Policy: a.Prune, Most: a.PruneMost, Approved: a.Approved, Whole: a.Deleting,
		},
	}
	s.access, s.denied = tenancy.Of(e.Identities, a)
	return s
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

// Leaving returns which entries of an app's inventory are to be pruned, or count as a difference although they stay, which counts drop with
// them, and what a run would do about them. It writes nothing. One that cannot be read is among the entries.
func (e *Engine) Leaving(ctx context.Context, a app.App, left []inventory.Entry) ([]object.ID, []string, decide.Sweep) {
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
	return ids, e.dropNotes(listed), plan
}

// out judges and deletes entries of an app's inventory, and takes out of it what is gone. What came of it stands in s.
func (s *sweeping) out(ctx context.Context, ledger *inventory.Record, left []inventory.Entry) error {
	e := s.engine
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
			return &fault{report.PruneFailed, err}
		}
		s.in.Gone = append(s.in.Gone, g)
	}
	s.plan = decide.SweepAll(s.in)
	s.kept = s.plan.Keep
	if s.plan.Held == "" {
		e.announceEnds(s.plan.Delete)
	}
	swept := s.carry(ctx, s.plan)
	for _, id := range s.gone {
		e.forgetMemory(id)
	}
	*ledger = inventory.Without(*ledger, append(s.gone, s.passed...))
	ledger.Guard = s.counted(ledger.Guard, e.Now())
	return swept
}

// holds reports whether the object waits for approval.
func (s *sweeping) holds(id object.ID) bool {
	return s.plan.Held != "" && slices.Contains(s.plan.Delete, id)
}

// saveSwept writes what is left in a record after a prune, which may have failed.
func (e *Engine) saveSwept(ctx context.Context, ledger inventory.Record, swept error) error {
	if err := e.save(ctx, ledger); err != nil {
		return &fault{report.RecordFailed, errors.Join(err, swept)}
	}
	return swept
}

// look reads what is there under an entry of the inventory.
func (s *sweeping) look(ctx context.Context, entry inventory.Entry) (decide.Gone, error) {
	if s.denied != nil {
		return decide.Gone{}, s.denied
	}
	gvk := object.GVK{Group: entry.ID.Group, Version: entry.Version, Kind: entry.ID.Kind}
	o, err := s.access.Live.Get(ctx, gvk, entry.ID)
	if errors.Is(err, live.ErrNotFound) {
		o, err = nil, nil
	}
	if err != nil {
		return decide.Gone{}, fmt.Errorf("read %s: %w", entry.ID, err)
	}
	s.entries[entry.ID] = entry
	s.targets[entry.ID] = apply.Target{GVK: gvk, ID: entry.ID, UID: o.UID(), ResourceVersion: o.ResourceVersion()}
	g := decide.Gone{ID: entry.ID, UID: entry.UID, Live: o}
	if s.from.Takes() {
		g.Inherited, _ = s.from.Whose(o)
	}
	return g, nil
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
		if s.engine.passOn(id) {
			s.passed = append(s.passed, id)
			return nil
		}
		err := s.access.Writer.Delete(ctx, s.targets[id])
		if err == nil || errors.Is(err, apply.ErrGone) {
			s.gone = append(s.gone, id)
			s.deleted = append(s.deleted, s.entries[id])
			return nil
		}
		if !errors.Is(err, apply.ErrStale) {
			return err
		}
		if err := breathe(ctx, stale+1); err != nil {
			return err
		}
		if again, err := s.again(ctx, id); err != nil || !again {
			return err
		}
	}
	return apply.ErrStale
}

// again reads and judges an object once more, and reports whether it is still to be deleted.
func (s *sweeping) again(ctx context.Context, id object.ID) (bool, error) {
	g, err := s.look(ctx, s.entries[id])
	if errors.Is(err, live.ErrUnknownKind) {
		return false, nil // since a moment ago; as in out
	}
	if err != nil {
		return false, err
	}
	in := s.in
	in.Gone, in.Whole = []decide.Gone{g}, true
	plan := decide.SweepAll(in)
	s.gone = append(s.gone, plan.Forget...)
	return len(plan.Delete) > 0, nil
}
