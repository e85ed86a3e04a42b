package reconcile

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/truce-gitops/truce/internal/apply"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// Remove ends an app whose custom resource is being deleted: its objects go (or stay, as its prune policy says), then its record. Where the app
// waits for termination, the record stays while objects are awaited that have been deleted and are still there, and Remove is called again.
// The record of an app with hooks of its end stays until EndRemoval: it has which of them have run.
func (e *Engine) Remove(ctx context.Context, a app.App) (deleted []object.ID, awaited []apply.Target, err error) {
	a, err = e.Tracked(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	saved, err := e.Inventory.Load(ctx, a.Key)
	if err != nil {
		return nil, nil, err
	}
	made := e.dropApp(a.Key)
	a.Deleting = true
	if a.Prune = cmp.Or(a.PruneOnDelete, a.Prune); a.Prune != policy.PruneDelete || a.Policy.Mode != policy.Enforce {
		e.passAllToWaiting(made)
		return nil, nil, e.Inventory.Delete(ctx, a.Key)
	}
	if err := e.removable(ctx, a, saved); err != nil {
		return nil, nil, err
	}
	if saved.Unverified != "" {
		return nil, nil, errors.Join(unverified(saved.Unverified), e.Inventory.Save(ctx, saved)) // the next try reads it signed
	}
	saved = inventory.MergeEntries(saved, newerUIDs(saved, made))
	before := len(saved.Entries)
	left, err := e.withoutNamespaceContent(ctx, a, entriesOfApp(a, saved, made))
	if err != nil {
		return nil, nil, err
	}
	if err := e.deleteRanHooks(ctx, a, saved); err != nil { // the hooks of the removal are recorded in their place
		return nil, nil, e.saveAfterPrune(ctx, saved, err)
	}
	removal, err := e.beginRemoval(ctx, a, &saved)
	if err != nil {
		return nil, nil, e.saveAfterPrune(ctx, saved, err)
	}
	run := e.newPruneRun(a, before)
	removal.awaitTermination(run)
	err = run.execute(ctx, &saved, left)
	deleted = run.deletedIDs()
	if err == nil && a.AwaitTermination {
		awaited, err = run.stillTerminating(ctx, &saved)
	}
	if err == nil {
		err = removal.end(ctx, run.late, &saved)
	}
	if err != nil {
		return deleted, awaited, e.saveAfterPrune(ctx, saved, err)
	}
	if len(awaited) > 0 || removal.hooks != nil {
		return deleted, awaited, e.save(ctx, saved)
	}
	return deleted, awaited, e.Inventory.Delete(ctx, a.Key)
}

// EndRemoval deletes the record that Remove has left of an app. Nothing may lead to another Remove of it any more.
func (e *Engine) EndRemoval(ctx context.Context, a app.App) error {
	if !a.AsksForEndHooks() {
		return nil
	}
	if _, err := e.Inventory.Load(ctx, a.Key); err != nil { // a store deletes what it has read
		return err
	}
	return e.Inventory.Delete(ctx, a.Key)
}

// entriesOfApp are the entries of a record that go with the app. Of the record of an earlier app of this name only what this one has made goes.
func entriesOfApp(a app.App, saved inventory.Record, made map[object.ID]string) []inventory.Entry {
	if earlierApp(a, saved) == "" {
		return saved.Entries
	}
	return slices.DeleteFunc(slices.Clone(saved.Entries), func(entry inventory.Entry) bool { return made[entry.ID] == "" })
}

func (s *pruneRun) deletedIDs() []object.ID {
	out := make([]object.ID, 0, len(s.deleted))
	for _, entry := range s.deleted {
		out = append(out, entry.ID)
	}
	return out
}

// stillTerminating returns what is still there of the objects that have been deleted, by this run or before it, and takes the others out of the record.
func (s *pruneRun) stillTerminating(ctx context.Context, saved *inventory.Record) ([]apply.Target, error) {
	var awaited []apply.Target
	for id, why := range s.kept {
		if why.BeingDeleted {
			awaited = append(awaited, s.targets[id])
		}
	}
	var gone []object.ID
	was := maps.Clone(s.targets)
	for i, now := range s.readEntries(ctx, s.deleted) {
		id := s.deleted[i].ID
		if now.err != nil && !errors.Is(now.err, live.ErrUnknownKind) {
			return nil, now.err
		}
		if now.Live == nil || now.Live.UID() != was[id].UID {
			gone = append(gone, id)
			continue
		}
		awaited = append(awaited, s.targets[id])
	}
	for _, id := range gone {
		s.engine.forgetMemory(id)
	}
	*saved = inventory.RemoveEntries(*saved, gone)
	slices.SortFunc(awaited, func(a, b apply.Target) int { return a.ID.Compare(b.ID) })
	return awaited, nil
}
