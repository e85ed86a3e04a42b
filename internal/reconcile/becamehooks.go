package reconcile

import (
	"context"
	"slices"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// becameHook is why an object is deleted that the revision describes as a hook.
const becameHook = "it is a hook in Git"

// pruneFormerObjects deletes the app's own objects that the revision describes as hooks which are about to run, and waits until they are gone: the hook
// would take them for objects of another owner. As in Argo CD and Helm that does not depend on whether the app prunes, unless the hook's policies leave
// its former object. The guards of a prune apply. What an annotation keeps stays, and the hook fails.
func (r *appRun) pruneFormerObjects(ctx context.Context, run hooks.Runner, runs map[int]hook.Run) error {
	var replaced, others []inventory.Entry
	for _, h := range run.Hooks {
		entry, is := r.formerObject(h, run.Namespace)
		switch phase := runs[h.Index].Phase; {
		case !is || phase != hook.NotRun:
		case h.Deletes(hook.BeforeCreation):
			replaced = append(replaced, entry)
		default:
			others = append(others, entry)
		}
	}
	whatever := r.app
	whatever.Prune, whatever.PruneRestraint = policy.PruneDelete, policy.Restraint{}
	if err := r.pruneFormer(ctx, whatever, replaced); err != nil {
		return err
	}
	return r.pruneFormer(ctx, r.app, others)
}

// formerObject is the entry of the inventory that has the name of a hook; namespace is that of hooks that name none.
func (r *appRun) formerObject(h hook.Hook, namespace string) (inventory.Entry, bool) {
	id := h.Object.ID()
	inDefault := object.ID{Group: id.Group, Kind: id.Kind, Namespace: namespace, Name: id.Name}
	i := slices.IndexFunc(r.inventory.Entries, func(e inventory.Entry) bool { return e.ID == id || id.Namespace == "" && e.ID == inDefault })
	if i < 0 {
		return inventory.Entry{}, false
	}
	return r.inventory.Entries[i], true
}

// pruneFormer prunes entries of the inventory as an app asks for it.
func (r *appRun) pruneFormer(ctx context.Context, a app.App, left []inventory.Entry) error {
	switch {
	case len(left) == 0 || r.app.Deleting:
		return nil
	case r.isOutdated():
		return &stageError{report.InProgress, errWentBack}
	case r.inventory.Unverified != "":
		return &stageError{report.PruneHeld, unverified(r.inventory.Unverified)}
	case r.firstOfEra():
		return r.afterWentBack(ctx, a, left, r.undescribedEntries(left))
	}
	r.releaseObjects(left)
	swept := r.engine.newPruneRun(a, len(r.inventory.Entries))
	swept.revision, swept.why, swept.order, swept.in.Confirmed = r.artifact.Revision, becameHook, awaitEachWave, r.isConfirmed()
	r.countGuard(ctx, swept, len(left))
	err := swept.execute(ctx, &r.inventory, left)
	err = r.engine.saveAfterPrune(ctx, r.inventory, err)
	if gone := swept.deletedIDs(); len(gone) > 0 {
		r.engine.Observer.OnPrune(r.app.Key, r.artifact.Revision, swept.why, gone)
	}
	r.report.Notes = append(r.report.Notes, keptNotes(left, swept.kept)...)
	return err
}

// undescribedEntries are the inventory's entries, but for some, that the revision does not describe as objects.
func (r *appRun) undescribedEntries(but []inventory.Entry) []inventory.Entry {
	described := map[object.ID]bool{}
	for _, o := range r.set.Objects {
		described[o.ID] = true
	}
	for _, e := range but {
		described[e.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(r.inventory.Entries), func(e inventory.Entry) bool { return described[e.ID] })
}

// releaseObjects ends the app's reconciliation of objects that are about to be deleted.
func (r *appRun) releaseObjects(left []inventory.Entry) {
	ids := make([]object.ID, 0, len(left))
	for _, entry := range left {
		ids = append(ids, entry.ID)
	}
	made := r.engine.dropObjects(r.app.Key, ids)
	r.state.mu.Lock()
	for _, id := range ids {
		delete(r.state.wanted, id)
	}
	r.state.mu.Unlock()
	r.inventory = inventory.MergeEntries(r.inventory, newerUIDs(r.inventory, made))
}
