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
	"github.com/truce-gitops/truce/internal/report"
)

// ledger is an app's inventory between two runs. The names of what is about to be made are written before it is made; what came of
// it (uids, digests) may be written a little later, together with whatever is written next: until then our own entry
// in managedFields proves what the uid would (ADR 6), and after a crash the first look at an object tells whether it is as Git wants.
type ledger struct {
	turn chan struct{} // holds a token while the record is read or written: one at a time

	mu    sync.Mutex        // guards what follows; never held across a request
	owed  *inventory.Record // as it should be written; nil if it is
	since time.Time         // when it became owed
}

func newLedger() *ledger { return &ledger{turn: make(chan struct{}, 1)} }

// take waits until no other goroutine reads or writes the record; give ends that.
func (l *ledger) take(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the inventory: %w", ctx.Err())
	}
}

func (l *ledger) give() { <-l.turn }

// pending is what is owed, nil for nothing, and since when.
func (l *ledger) pending() (*inventory.Record, time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owed, l.since
}

func (l *ledger) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.owed = nil
}

// clearIf is clear unless something else is owed meanwhile.
func (l *ledger) clearIf(written *inventory.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owed == written {
		l.owed = nil
	}
}

// record writes down what is about to be made. Losing an object that we made is worse than remembering one that we did not.
func (r *run) record(ctx context.Context) error {
	l := r.state.ledger
	if err := l.take(ctx); err != nil {
		return &fault{report.RecordFailed, err}
	}
	defer l.give()
	if err := r.load(ctx); err != nil {
		return &fault{report.RecordFailed, err}
	}
	r.report.Recorded = len(r.ledger.Entries) > 0
	if len(r.ledger.Entries) == 0 {
		r.ledger.Guard.Origin = r.origin()
	}
	if r.ledger.Unverified != "" {
		r.report.Notes = append(r.report.Notes, unverified(r.ledger.Unverified).Error())
	}
	if err := r.inherit(ctx); err != nil {
		return &fault{report.ClusterFailed, err}
	}
	if err := r.register(); err != nil {
		return &fault{report.RecordFailed, err}
	}
	if r.app.Policy.Mode != app.Enforce {
		return nil
	}
	r.ledger.AppUID = r.app.UID
	ahead := inventory.Ahead(r.ledger, r.identities())
	if err := l.write(ctx, r.engine.Inventory, ahead); err != nil {
		return &fault{report.RecordFailed, err}
	}
	r.ledger, r.report.Recorded = ahead, true
	return nil
}

func (r *run) load(ctx context.Context) (err error) {
	owed, _ := r.state.ledger.pending()
	if owed != nil && owed.Unverified == "" {
		r.ledger = *owed
		return nil
	}
	r.ledger, err = r.engine.Inventory.Load(ctx, r.app.Key)
	if err == nil && owed != nil { // a run has signed the record meanwhile
		why := r.ledger.Unverified
		r.ledger = *owed
		r.ledger.Unverified = why
	}
	if r.era > 0 { // what was written down at a resourceVersion may be from before the server's data went back
		for i := range r.ledger.Entries {
			r.ledger.Entries[i].Judged = ""
		}
	}
	return err
}

// unverified is what is reported of an app whose inventory is not verified.
func unverified(why string) error {
	return fmt.Errorf("nothing is pruned in this run: the app's inventory is not verified: %s", why)
}

// write makes a record the app's stored one. The caller has the turn.
func (l *ledger) write(ctx context.Context, to inventory.Store, r inventory.Record) error {
	err := to.Save(ctx, r)
	if err == nil || errors.Is(err, inventory.ErrChanged) { // what is owed was built on another record
		l.clear()
	}
	return err
}

// owe leaves the app's record to be written by WriteRecord, unless the next run does it. Where drift is not simply put back it is
// written now: after a crash the digests are what tells drift from a change in Git.
func (r *run) owe(ctx context.Context, next inventory.Record) error {
	if p := r.app.Policy; p.Remediation != app.Remediate || p.Spacing > 0 {
		if err := r.engine.save(ctx, next); err != nil {
			return &fault{report.RecordFailed, err}
		}
		return nil
	}
	l := r.state.ledger
	l.mu.Lock()
	if l.owed == nil {
		l.since = r.engine.Now()
	}
	l.owed = &next
	l.mu.Unlock()
	r.engine.Owed(r.app.Key)
	return nil
}

// close drops what is owed, and returns when it is not being written any more: the record of an app that ends is deleted next.
func (l *ledger) close() {
	l.turn <- struct{}{} // a write ends with its request
	defer l.give()
	l.clear()
}

// save makes a record the app's stored one, in place of what is owed.
func (e *Engine) save(ctx context.Context, r inventory.Record) error {
	s := e.known(r.App)
	if s == nil { // its custom resource is being deleted
		return e.Inventory.Save(ctx, r)
	}
	if err := s.ledger.take(ctx); err != nil {
		return err
	}
	defer s.ledger.give()
	return s.ledger.write(ctx, e.Inventory, r)
}

// WriteRecord writes down what the app's last run has left to be written. It may block; that nothing is left is no error.
func (e *Engine) WriteRecord(ctx context.Context, key app.Key) error {
	s := e.known(key)
	if s == nil {
		return nil
	}
	l := s.ledger
	if err := l.take(ctx); err != nil {
		return err
	}
	defer l.give()
	owed, _ := l.pending()
	if owed == nil {
		return nil
	}
	err := e.Inventory.Save(ctx, *owed)
	switch {
	case errors.Is(err, inventory.ErrChanged): // what is owed was built on another record
		l.clear()
		e.Rerun(key) // reads what is there, and adds to it
		return nil
	case err == nil:
		l.clearIf(owed)
	}
	return err
}

// OwedSince says since when the app's record has been left to be written; zero if it has not.
func (e *Engine) OwedSince(key app.Key) time.Time {
	s := e.known(key)
	if s == nil {
		return time.Time{}
	}
	owed, since := s.ledger.pending()
	if owed == nil {
		return time.Time{}
	}
	return since
}

// Owing lists the apps whose records are left to be written.
func (e *Engine) Owing() []app.Key {
	e.mu.RLock()
	keys := slices.Collect(maps.Keys(e.apps))
	e.mu.RUnlock()
	return slices.DeleteFunc(keys, func(key app.Key) bool { return e.OwedSince(key).IsZero() })
}

// known returns what the engine knows of an app, nil for nothing.
func (e *Engine) known(key app.Key) *state {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.apps[key]
}
