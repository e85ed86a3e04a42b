package reconcile

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// pruneRun is one judgement of what left Git, and what came of it.
type pruneRun struct {
	engine   *Engine
	app      app.Key
	bound    app.App // by its project
	revision string  // which no longer has them; empty where that is not why they are deleted
	why      string  // they are deleted
	from     policy.Adoption
	access   tenancy.Access // of the app's account
	denied   error          // there is no such access
	in       decide.PruneInput
	plan     decide.PrunePlan
	entries  map[object.ID]inventory.Entry
	targets  map[object.ID]apply.Target
	waveKeys []string
	waves    map[object.ID]int // of what is there, by its annotations
	forget   []object.ID       // what the inventory may forget, and what is remembered of it
	deleted  []inventory.Entry
	kept     map[object.ID]decide.KeepReason
	// propagation is what becomes of the dependents of what is deleted.
	propagation hook.Propagation
	awaits      bool // what is deleted stays in the inventory until it is gone
	order       pruneWaits
	limit       waitLimit
	late        string // which objects were still there after the limit; empty for none
}

func (e *Engine) newPruneRun(a app.App, total int) *pruneRun {
	s := &pruneRun{
		awaits: a.Deleting && a.AwaitTermination, order: pruneWaitsOf(a), engine: e, app: a.Key, bound: a, why: journal.LeftGit, from: a.Adoption, entries: map[object.ID]inventory.Entry{}, targets: map[object.ID]apply.Target{}, waveKeys: a.Waves, waves: map[object.ID]int{},
		in: decide.PruneInput{
			Total: total, Rules: e.PruneRules, Label: desired.PartOfValue(a.Key), Policy: a.Prune, Limit: a.PruneLimit, Approved: a.Approved, AppDeleted: a.Deleting,
			PruneRestraint: a.PruneRestraint, DeleteRestraint: a.DeleteRestraint, KeepDefinitions: a.KeepDefinitions,
		},
	}
	if a.Deleting {
		s.why = "its app is deleted"
	}
	if a.Deleting && a.Release != nil {
		s.propagation = a.Release.Uninstall.Propagation
	}
	s.access, s.denied = e.accessOf(a)
	return s
}

// stillThere returns those of the entries that are in the cluster, and ours. It writes nothing.
func (e *Engine) stillThere(ctx context.Context, a app.App, left []inventory.Entry) ([]report.ListedObject, error) {
	s := e.newPruneRun(a, len(left))
	for _, now := range s.readEntries(ctx, left) {
		switch {
		case now.err == nil:
			s.in.Gone = append(s.in.Gone, now.PruneCandidate)
		case !errors.Is(now.err, live.ErrUnknownKind):
			return nil, &stageError{report.ClusterFailed, now.err}
		}
	}
	s.kept = decide.PlanPrune(s.in).Keep
	there := slices.DeleteFunc(slices.Clone(left), func(entry inventory.Entry) bool { return s.kept[entry.ID].Why == "" })
	return s.leaving(there), nil
}

// PruneCandidates returns which entries of an app's inventory are to be pruned, or count as a difference although they stay, which counts drop with
// them, and what a run would do about them. It writes nothing. One that cannot be read is among the entries.
func (e *Engine) PruneCandidates(ctx context.Context, a app.App, left []inventory.Entry) ([]object.ID, []string, decide.PrunePlan) {
	s := e.newPruneRun(a, len(left))
	leaves := map[object.ID]bool{}
	for i, now := range s.readEntries(ctx, left) {
		if now.err == nil {
			s.in.Gone = append(s.in.Gone, now.PruneCandidate)
		} else {
			leaves[left[i].ID] = true
		}
	}
	plan := decide.PlanPrune(s.in)
	for _, id := range plan.Delete {
		leaves[id] = true
	}
	var ids []object.ID
	var listed []report.ListedObject
	for _, entry := range left {
		if leaves[entry.ID] || plan.Keep[entry.ID].Counts == decide.Leaving {
			ids, listed = append(ids, entry.ID), append(listed, report.ListedObject{ID: entry.ID})
		}
	}
	return ids, e.dropNotes(listed), plan
}

// execute judges and deletes entries of an app's inventory, and takes out of it what is gone. What came of it stands in s.
func (s *pruneRun) execute(ctx context.Context, saved *inventory.Record, left []inventory.Entry) error {
	if err := s.judge(ctx, left); err != nil {
		return err
	}
	return s.carryOut(ctx, saved)
}

// judge reads what is there under entries of an app's inventory, and plans what becomes of it. What another app names is left to that one.
func (s *pruneRun) judge(ctx context.Context, left []inventory.Entry) error {
	for _, entry := range left {
		s.isPassed(entry.ID)
	}
	if err := s.readCandidates(ctx, left); err != nil {
		return &stageError{report.PruneFailed, err}
	}
	s.judgeRead()
	return nil
}

// judgeRead plans what becomes of the objects that were read.
func (s *pruneRun) judgeRead() {
	s.plan = decide.PlanPrune(s.in)
	s.kept = s.plan.Keep
}

// carryOut deletes what is planned, and takes out of the inventory what is gone.
func (s *pruneRun) carryOut(ctx context.Context, saved *inventory.Record) error {
	e := s.engine
	if s.plan.Held == "" {
		e.announceEnds(s.plan.Delete)
	}
	swept := s.deletePlanned(ctx, s.plan)
	for _, id := range s.forget {
		e.forgetMemory(id)
	}
	*saved = inventory.RemoveEntries(*saved, s.forget)
	saved.Guard = s.guardAfter(saved.Guard, e.Now())
	return swept
}

// isPassed reports whether another app has an object, or asked for it. The record of an app that ends waits for none.
func (s *pruneRun) isPassed(id object.ID) bool {
	if s.in.AppDeleted {
		return s.engine.passToWaiting(id, app.Key{})
	}
	return s.engine.passToWaiting(id, s.app)
}

// stillDue are the objects that wait for approval, or for what is deleted before them.
func (s *pruneRun) stillDue() map[object.ID]bool {
	out := map[object.ID]bool{}
	if s.plan.Held == "" && s.order == awaitNothing {
		return out
	}
	for _, id := range s.rest() {
		out[id] = true
	}
	return out
}

// rest is what the plan deletes and the run has not.
func (s *pruneRun) rest() []object.ID {
	deleted := entryIDs(s.deleted)
	return slices.DeleteFunc(slices.Clone(s.plan.Delete), func(id object.ID) bool { return deleted[id] })
}

func entryIDs(entries []inventory.Entry) map[object.ID]bool {
	out := make(map[object.ID]bool, len(entries))
	for _, e := range entries {
		out[e.ID] = true
	}
	return out
}

// recordWithin is how long a record that must not be lost is written on when the time of its run is over, or the process ends. No write outlives the lease.
const recordWithin = 2 * time.Second

// saveAfterPrune writes what is left in a record after a prune, which may have failed, also as ctx has ended: what was deleted counts for the next one.
func (e *Engine) saveAfterPrune(ctx context.Context, saved inventory.Record, swept error) error {
	saving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(recordWithin, cancel) })()
	if err := e.save(saving, saved); err != nil {
		return &stageError{report.RecordFailed, errors.Join(err, swept)}
	}
	return swept
}

func (s *pruneRun) deletePlanned(ctx context.Context, plan decide.PrunePlan) error {
	s.forget = append(s.forget, plan.Forget...)
	if plan.Held != "" {
		return &stageError{report.PruneHeld, errors.New(plan.Held)}
	}
	waves := s.wavesOf(plan)
	for i, wave := range waves {
		if err := s.deleteWave(ctx, wave); err != nil {
			return err
		}
		if i == len(waves)-1 && !s.order.awaitsLast() {
			break
		}
		if err := s.awaitGone(ctx, wave); err != nil {
			return err
		}
	}
	s.endWaits()
	return nil
}
