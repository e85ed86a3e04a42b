package reconcile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// pendingInventory is an app's inventory between two runs. The names of what is about to be made are written before it is made; what came of
// it (uids, digests) may be written a little later, together with whatever is written next: until then our own entry
// in managedFields proves what the uid would (ADR 6), and after a crash the first comparison shows whether the object is as Git wants.
type pendingInventory struct {
	turn chan struct{} // holds a token while the record is read or written: one at a time

	mu    sync.Mutex        // guards what follows; never held across a request
	next  *inventory.Record // as it should be written; nil if it is
	since time.Time         // when it became owed
}

func newPendingInventory() *pendingInventory { return &pendingInventory{turn: make(chan struct{}, 1)} }

// lock waits until no other goroutine reads or writes the record; give ends that.
func (l *pendingInventory) lock(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the inventory: %w", ctx.Err())
	}
}

func (l *pendingInventory) unlock() { <-l.turn }

// pending is what is owed, nil for nothing, and since when.
func (l *pendingInventory) pending() (*inventory.Record, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next, l.since
}

func (l *pendingInventory) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = nil
}

// clearIf is clear unless something else is owed meanwhile.
func (l *pendingInventory) clearIf(written *inventory.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == written {
		l.next = nil
	}
}

// loadInventory reads what earlier runs applied; for an app that is adopted, what the other controller applied.
func (r *appRun) loadInventory(ctx context.Context) error {
	if !r.rendered.recorded { // else it was read a moment ago
		if err := r.lockedLoad(ctx); err != nil {
			return err
		}
	}
	if err := r.acceptMove(); err != nil {
		return err
	}
	r.report.Recorded = len(r.inventory.Entries) > 0
	if len(r.inventory.Entries) == 0 {
		r.inventory.Guard.Origin = r.origin()
	}
	if r.inventory.Unverified != "" {
		r.report.Notes = append(r.report.Notes, unverified(r.inventory.Unverified).Error())
	}
	if err := r.inheritEntries(ctx); err != nil {
		return &stageError{report.ClusterFailed, err}
	}
	return nil
}

// lockedLoad is load when nothing else reads or writes the record.
func (r *appRun) lockedLoad(ctx context.Context) error {
	l := r.state.inventory
	err := l.lock(ctx)
	if err == nil {
		err = r.load(ctx)
		l.unlock()
	}
	if err != nil {
		return &stageError{report.RecordFailed, err}
	}
	return nil
}

// writeInventory writes the names of what is about to be applied. Losing an object that truce made is worse than remembering one that it did
// not make.
func (r *appRun) writeInventory(ctx context.Context) error {
	if r.app.Policy.Mode != policy.Enforce {
		return nil
	}
	l := r.state.inventory
	if err := l.lock(ctx); err != nil {
		return &stageError{report.RecordFailed, err}
	}
	defer l.unlock()
	if r.inventory.AppUID == "" || len(r.unnamedEntries()) == 0 {
		r.inventory.AppUID = r.app.UID // else what an earlier app of this name has made stays known as that
	}
	ahead := inventory.AddEntries(r.inventory, r.identities())
	if err := l.save(ctx, r.engine.Inventory, ahead); err != nil {
		return &stageError{report.RecordFailed, err}
	}
	if len(r.inventory.Entries) == 0 { // nothing was written down before the server's data went back
		r.endFirstOfEra()
	}
	r.inventory, r.report.Recorded = ahead, true
	r.listObjects()
	return nil
}

// listObjects permits writes to the objects that the stored inventory names.
func (r *appRun) listObjects() {
	for id := range r.state.wanted {
		if rec := r.engine.lookup(id); rec != nil {
			rec.mu.Lock()
			rec.listed = true
			rec.mu.Unlock()
		}
	}
}

func (r *appRun) load(ctx context.Context) (err error) {
	owed, _ := r.state.inventory.pending()
	if owed != nil && owed.Unverified == "" {
		r.inventory = *owed
		return nil
	}
	r.inventory, err = r.engine.Inventory.Load(ctx, r.app.Key)
	if err == nil && owed != nil { // a run has signed the record meanwhile
		why := r.inventory.Unverified
		r.inventory = *owed
		r.inventory.Unverified = why
	}
	if r.dataEra > 0 { // what was written down at a resourceVersion may be from before the server's data went back
		for i := range r.inventory.Entries {
			r.inventory.Entries[i].Judged = ""
		}
		r.inventory.Rendered = ""
	}
	return err
}

// unverified is what is reported of an app whose inventory is not verified.
func unverified(why string) error {
	return fmt.Errorf("nothing is pruned in this run: the app's inventory is not verified: %s", why)
}

// save makes a record the app's stored one. The caller has the turn.
func (l *pendingInventory) save(ctx context.Context, to inventory.Store, r inventory.Record) error {
	err := to.Save(ctx, r)
	if err == nil || errors.Is(err, inventory.ErrChanged) { // what is owed was built on another record
		l.clear()
	}
	return err
}

// deferInventory leaves the app's record to be written by WriteRecord, unless the next run does it. Where drift is not simply put back it is
// written now: after a crash the digests distinguish drift from a change in Git.
func (r *appRun) deferInventory(ctx context.Context, next inventory.Record) error {
	if p := r.app.Policy; p.Remediation != policy.Remediate || p.Spacing > 0 {
		if err := r.engine.save(ctx, next); err != nil {
			return &stageError{report.RecordFailed, err}
		}
		return nil
	}
	l := r.state.inventory
	l.mu.Lock()
	if l.next == nil {
		l.since = r.engine.Now()
	}
	l.next = &next
	l.mu.Unlock()
	r.engine.queue.EnqueueInventory(r.app.Key)
	return nil
}

// close drops what is owed, and returns when it is not being written any more: the record of an app that ends is deleted next.
func (l *pendingInventory) close() {
	l.turn <- struct{}{} // a write ends with its request
	defer l.unlock()
	l.clear()
}

// save makes a record the app's stored one, in place of what is owed.
func (e *Engine) save(ctx context.Context, r inventory.Record) error {
	s := e.knownApp(r.App)
	if s == nil { // its custom resource is being deleted
		return e.Inventory.Save(ctx, r)
	}
	if err := s.inventory.lock(ctx); err != nil {
		return err
	}
	defer s.inventory.unlock()
	return s.inventory.save(ctx, e.Inventory, r)
}

// WriteInventory writes down what the app's last run has left to be written, and which of its objects have done their work since. It may block;
// that nothing is left is no error.
func (e *Engine) WriteInventory(ctx context.Context, key app.Key) error {
	s := e.knownApp(key)
	if s == nil {
		return nil
	}
	l := s.inventory
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	owed, _ := l.pending()
	next, ended, err := e.withExpiries(ctx, key, s, owed)
	if next == nil || err != nil {
		markExpiriesStored(ended)
		return err
	}
	err = e.Inventory.Save(ctx, *next)
	switch {
	case errors.Is(err, inventory.ErrChanged): // what is owed was built on another record
		l.clear()
		e.queue.EnqueueApp(key) // reads what is there, and adds to it
		return nil
	case err == nil:
		l.clearIf(owed)
		markExpiriesStored(ended)
	}
	return err
}

// InventoryPendingSince says since when the app's record has been left to be written; zero if it has not. That an object has done its work
// is written at once.
func (e *Engine) InventoryPendingSince(key app.Key) time.Time {
	s := e.knownApp(key)
	if s == nil {
		return time.Time{}
	}
	owed, since := s.inventory.pending()
	switch {
	case len(e.newlyExpiring(s)) > 0:
		return time.Unix(0, 0)
	case owed == nil:
		return time.Time{}
	}
	return since
}

// PendingInventories lists the apps whose records are left to be written.
func (e *Engine) PendingInventories() []app.Key {
	e.mu.RLock()
	keys := slices.Collect(maps.Keys(e.apps))
	e.mu.RUnlock()
	return slices.DeleteFunc(keys, func(key app.Key) bool { return e.InventoryPendingSince(key).IsZero() })
}

// knownApp returns what the engine knows of an app, nil for nothing.
func (e *Engine) knownApp(key app.Key) *appState {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.apps[key]
}
