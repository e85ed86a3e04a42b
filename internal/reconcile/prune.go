package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// updateInventory takes down the uids of what was made, and what was sent.
func (r *appRun) updateInventory(ctx context.Context) error {
	if r.app.Policy.Mode != policy.Enforce {
		return nil
	}
	next := inventory.MergeEntries(r.inventory, r.engine.entries(r.state))
	if len(r.unnamedEntries()) == 0 && len(r.problems) == 0 {
		next.Guard = r.newGuard(r.inventory.Guard)
	}
	next.Rendered = r.renderedAs(next)
	if slices.Equal(next.Entries, r.inventory.Entries) && next.Guard.Same(r.inventory.Guard) && next.Rendered == r.inventory.Rendered { // most commits touch few of the apps of a repository
		return nil
	}
	next.Revision = r.artifact.Revision
	r.inventory = next
	return r.deferInventory(ctx, next)
}

func (e *Engine) entries(s *appState) []inventory.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []inventory.Entry
	for id := range s.wanted {
		r := e.lookup(id)
		if r == nil {
			continue
		}
		r.mu.Lock()
		entry := inventory.Entry{ID: id, Version: r.gvk().Version, UID: r.appliedUID, Expires: r.expires, Found: r.found}
		if r.state.phase == applied {
			entry.Sent, entry.Judged = r.digest, r.settledAs()
		}
		r.mu.Unlock()
		out = append(out, entry)
	}
	return out
}

// prune deletes what left Git. It is reached only when the whole revision was rendered and applied. A release is complete without what a person has to
// approve.
func (r *appRun) prune(ctx context.Context) error {
	held := r.pruneUnnamed(ctx)
	var f *stageError
	if errors.As(held, &f) && f.reason == report.PruneHeld {
		if err := r.endRelease(ctx); err != nil {
			return err
		}
	}
	return held
}

func (r *appRun) pruneUnnamed(ctx context.Context) error {
	if r.app.Adoption.Mode == policy.HandBack && r.app.Policy.Mode == policy.Observe {
		return r.handBack(ctx)
	}
	if r.isOutdated() {
		return &stageError{report.InProgress, errWentBack}
	}
	left, first := r.unnamedEntries(), r.firstOfEra()
	r.endFirstOfEra()
	r.engine.peers.leave(r.app.Key, r.seenRevision())
	r.report.Leaving = nil
	if len(left) == 0 || r.app.Policy.Mode != policy.Enforce && r.app.Policy.Mode != policy.Await {
		return nil
	}
	if r.app.Policy.Mode == policy.Await || r.app.Prune == policy.PruneReport || r.withheld() != withholdsNothing {
		return r.keepUnnamed(ctx, left)
	}
	if r.inventory.Unverified != "" {
		r.report.Leaving = listedEntries(left)
		return &stageError{report.PruneHeld, unverified(r.inventory.Unverified)}
	}
	if first {
		return r.afterWentBack(ctx, r.app, left, nil)
	}
	return r.pruneUnlessHeld(ctx, left)
}

// pruneUnlessHeld deletes what left Git, where nothing speaks against it.
func (r *appRun) pruneUnlessHeld(ctx context.Context, left []inventory.Entry) error {
	r.report.Leaving = listedEntries(left)
	meant := slices.DeleteFunc(slices.Clone(left), func(e inventory.Entry) bool { return !r.app.SyncRequest.Covers(e.ID) })
	swept := r.engine.newPruneRun(r.app, len(r.inventory.Entries))
	swept.revision, swept.in.Confirmed = r.artifact.Revision, r.isConfirmed()
	if err := swept.judge(ctx, meant); err != nil {
		return err
	}
	if may, err := r.mayDelete(ctx, swept.plan.Delete); !may {
		return err
	}
	r.countGuard(ctx, swept, len(meant))
	swept.judgeRead()
	err := swept.carryOut(ctx, &r.inventory)
	if err == nil && len(meant) == len(left) {
		r.inventory.Guard, r.inventory.Rendered = r.newGuard(r.inventory.Guard), r.renderedAs(r.inventory)
	}
	err = r.engine.saveAfterPrune(ctx, r.inventory, err)
	if gone := swept.deletedIDs(); len(gone) > 0 {
		r.engine.Observer.OnPrune(r.app.Key, r.artifact.Revision, swept.why, gone)
	}
	r.pruned = r.state.prunedInWaves(listedEntries(swept.deleted), isWaiting(err))
	still := stillIn(r.inventory, left)
	r.report.Notes = append(r.report.Notes, keptNotes(still, swept.kept)...)
	if len(meant) == len(left) { // else some were not asked about
		due := swept.stillDue()
		still = slices.DeleteFunc(still, func(e inventory.Entry) bool { return swept.kept[e.ID].Counts == "" && !due[e.ID] })
	}
	r.report.Leaving = swept.leaving(still)
	return err
}

// mayDelete reports whether a run may delete objects now: no other app may be about to take them over, and a fresh render does not name them. Without objects
// it waits for nothing. A prune that is postponed is no error.
func (r *appRun) mayDelete(ctx context.Context, ids []object.ID) (bool, error) {
	if len(ids) == 0 {
		r.engine.peers.leave(r.app.Key, revisionOf{})
		return true, nil
	}
	if other, ok := r.awaitPeers(); ok {
		return false, r.postponePrune(other, fmt.Errorf("prune waits until %s has seen this revision: it may have taken over what left this app", other))
	}
	if on, why := r.awaitHandover(); why != nil {
		return false, r.postponePrune(on.app, why)
	}
	err := r.confirmRender(ctx)
	return err == nil, err
}

// isConfirmed reports whether a person has agreed to delete what asks for it, since Git has left something to prune.
func (r *appRun) isConfirmed() bool {
	since := r.leavingSince(r.engine.Now()).Truncate(time.Second)
	return !r.app.Confirmed.IsZero() && !r.app.Confirmed.Before(since)
}

// keepUnnamed keeps what left Git, and reports it. Entries of objects that are gone, or that belong to another app, leave the inventory.
func (r *appRun) keepUnnamed(ctx context.Context, left []inventory.Entry) error {
	a := r.app
	a.Prune = policy.PruneReport
	if a.Policy.Mode != policy.Enforce {
		there, err := r.engine.stillThere(ctx, a, left)
		r.report.Leaving = there
		return err
	}
	swept := r.engine.newPruneRun(a, len(r.inventory.Entries))
	err := r.engine.saveAfterPrune(ctx, r.inventory, swept.execute(ctx, &r.inventory, left))
	r.report.Leaving = swept.leaving(stillIn(r.inventory, left))
	return err
}

// unnamedEntries lists the inventory's entries that the revision does not name.
func (r *appRun) unnamedEntries() []inventory.Entry {
	r.state.mu.Lock()
	defer r.state.mu.Unlock()
	var out []inventory.Entry
	for _, e := range r.inventory.Entries {
		if !r.state.wanted[e.ID] {
			out = append(out, e)
		}
	}
	return out
}

// confirmRender makes sure that the render which misses the objects is no cached one, that no template was without an answer of the API server, and that
// the source did not just become empty.
func (r *appRun) confirmRender(ctx context.Context) error {
	if len(r.rendered.named) == 0 && !r.app.AllowEmpty {
		return &stageError{report.PruneHeld, errors.New("the source describes no object at all: nothing is pruned from that")}
	}
	if unanswered := unansweredIn(r.request, r.rendered.inflated); len(unanswered) > 0 {
		return &stageError{report.PruneHeld, live.Unanswered(fmt.Errorf("nothing is pruned: the API server has no answer of %s, and templates may ask whether it serves that; "+
			"if it is gone for good, delete its APIService", strings.Join(unanswered, ", ")))}
	}
	if r.rendered.fresh {
		return nil
	}
	again, err := r.engine.Fresh.Render(ctx, r.request)
	if err != nil {
		return &stageError{report.RenderFailed, err}
	}
	scopes, err := r.scopes(ctx)
	if err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	set, err := desired.Normalize(again.Objects, r.app, func(g object.GVK) desired.Scope { return scopes[g] })
	if err != nil {
		return &stageError{report.RenderFailed, err}
	}
	if fresh := namesOf(set); !maps.Equal(fresh, r.rendered.named) {
		return &stageError{report.PruneHeld, fmt.Errorf("nothing is pruned: %s", describeDifference(r.rendered.named, fresh))}
	}
	return nil
}

// unansweredIn lists the apiVersions of which the templates of a request do not know whether they are served. A kustomization that could name charts, and
// names none, has no templates.
func unansweredIn(q render.Request, inflated bool) []string {
	for _, p := range q.Parts {
		if all := unansweredIn(p, inflated); len(all) > 0 {
			return all
		}
	}
	switch {
	case q.Chart != nil:
		return q.Chart.Unanswered
	case q.Inflate != nil && inflated:
		return q.Inflate.Unanswered
	}
	return nil
}

// describeDifference says how a fresh render differs from the cached one, by one object.
func describeDifference(cached, fresh map[object.ID]bool) string {
	for _, id := range missing(fresh, cached) {
		return "a fresh render names " + id.String() + ", and the cached one does not"
	}
	for _, id := range missing(cached, fresh) {
		return "the cached render names " + id.String() + ", and a fresh one does not"
	}
	return "a fresh render and the cached one are alike"
}

// dropObjects ends an app's ownership of objects, and returns when no reconcile of them is under way: what is about to be deleted must not be
// created again by the event of its deletion. It returns the uids of the objects that truce applied.
func (e *Engine) dropObjects(key app.Key, ids []object.ID) map[object.ID]string {
	var dropped []*managedObject
	e.mu.Lock()
	for _, id := range ids {
		r := e.objects[id]
		if r == nil {
			continue
		}
		r.mu.Lock()
		if r.owner == key {
			delete(e.objects, id)
			dropped = append(dropped, r)
		}
		r.mu.Unlock()
	}
	e.mu.Unlock()
	uids := make(map[object.ID]string, len(dropped))
	for _, r := range dropped {
		r.reconcileLock.Lock()
		uids[r.id] = r.appliedUID // no reconcile writes it any more
		r.reconcileLock.Unlock()
		e.failures.drop(key, r.id)
	}
	return uids
}

// newerUIDs lists the inventory's entries with the uids that are known by now: an object that a person deleted and that truce created again
// between two runs has another one than the saved says, and is ours all the same.
func newerUIDs(saved inventory.Record, uids map[object.ID]string) []inventory.Entry {
	var out []inventory.Entry
	for _, entry := range saved.Entries {
		if uid := uids[entry.ID]; uid != "" {
			entry.UID = uid
			out = append(out, entry)
		}
	}
	return out
}

// withoutNamespaceContent leaves out what goes with the app's namespace anyway, if that is being deleted: the rights of the app's account may be gone
// before it, and the app must not keep the namespace for ever.
func (e *Engine) withoutNamespaceContent(ctx context.Context, a app.App, all []inventory.Entry) ([]inventory.Entry, error) {
	if a.Account.IsSelf() {
		return all, nil
	}
	ending, err := e.isHomeEnding(ctx, a)
	if err != nil || !ending {
		return all, err
	}
	return slices.DeleteFunc(slices.Clone(all), func(entry inventory.Entry) bool { return entry.ID.Namespace == a.Key.Namespace }), nil
}

// isHomeEnding reports whether the namespace of an app's custom resource is being deleted, and is in the cluster of its objects.
func (e *Engine) isHomeEnding(ctx context.Context, a app.App) (bool, error) {
	if e.Remote != nil { // the rights in a remote cluster do not end with this one's namespace
		return false, nil
	}
	id := object.ID{Kind: "Namespace", Name: a.Key.Namespace}
	home, err := e.Live.Get(ctx, object.GVK{Version: "v1", Kind: id.Kind}, id)
	if err != nil {
		return false, fmt.Errorf("read %s: %w", id, err)
	}
	return home.At("metadata", "deletionTimestamp") != nil, nil
}

// HasInventory reports whether there is a record of what truce has made for an app.
func (e *Engine) HasInventory(ctx context.Context, key app.Key) (bool, error) {
	saved, err := e.Inventory.Load(ctx, key)
	return len(saved.Entries) > 0, err
}

// Forget ends an app whose custom resource is gone, without touching its objects: other apps may take them. The inventory is deleted where the
// objects were to stay. Where they were to be deleted, another program removed the finalizer, and the inventory stays as the only list of
// what truce has left behind. After an error the app is known still, and Forget is called again.
func (e *Engine) Forget(ctx context.Context, key app.Key) error {
	if err := e.WriteInventory(ctx, key); err != nil {
		return err
	}
	a, err := e.appOf(key) // an error: it was never run, or has ended already
	if err == nil && cmp.Or(a.PruneOnDelete, a.Prune) == policy.PruneKeep && a.Policy.Mode != policy.Observe {
		if err := e.deleteInventory(ctx, key); err != nil {
			return err
		}
	}
	if e.Bases != nil {
		e.Bases.Forget(key)
	}
	e.releaseWaits.forget(key)
	e.passAllToWaiting(e.dropApp(key))
	return nil
}

// deleteInventory deletes the record of an app that is known, and drops what is left to be written of it.
func (e *Engine) deleteInventory(ctx context.Context, key app.Key) error {
	l := e.state(key).inventory
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	if _, err := e.Inventory.Load(ctx, key); err != nil { // a store deletes what it has read
		return err
	}
	if err := e.Inventory.Delete(ctx, key); err != nil {
		return err
	}
	l.clear()
	return nil
}

// dropApp forgets an app and lets go of its objects' records.
func (e *Engine) dropApp(key app.Key) map[object.ID]string {
	s := e.state(key)
	s.inventory.close()
	e.failures.forget(key)
	e.follow(key, nil) // but for a hook that is waited for
	s.mu.Lock()
	ids := missing(s.wanted, nil)
	s.mu.Unlock()
	e.mu.Lock()
	delete(e.apps, key)
	maps.DeleteFunc(e.passing, func(p passage, _ app.Key) bool { return p.from == key })
	e.mu.Unlock()
	e.endRecordedOwner(key)
	e.declareClaimants(key, nil)
	e.peers.leave(key, revisionOf{})
	before := e.sharedObjects(key)
	e.endWaits(key, nil)
	e.refreshRivals(before, nil)
	defer e.PeerChanged(key)
	return e.dropObjects(key, ids)
}
