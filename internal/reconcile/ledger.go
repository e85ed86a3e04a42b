package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/inventory"
	"github.com/truce-gitops/truce/internal/report"
)

// ledger is an app's inventory between two runs. The names of what is about to be made are written before it is made; what came of
// it (uids, digests) may be written a little later, together with whatever is written next: until then our own entry
// in managedFields proves what the uid would (ADR 6), and after a crash the first look at an object tells whether it is as Git wants.
type ledger struct {
	book  sync.Mutex        // held while the record is read or written
	owed  *inventory.Record // as it should be written; nil if it is
	since time.Time         // when it became owed
}

// record writes down what is about to be made. Losing an object that we made is worse than remembering one that we did not.
func (r *run) record(ctx context.Context) error {
	l := &r.state.ledger
	l.book.Lock()
	defer l.book.Unlock()
	if err := r.load(ctx); err != nil {
		return &fault{report.RecordFailed, err}
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
	r.ledger = ahead
	return nil
}

func (r *run) load(ctx context.Context) (err error) {
	if owed := r.state.ledger.owed; owed != nil {
		r.ledger = *owed
		return nil
	}
	r.ledger, err = r.engine.Inventory.Load(ctx, r.app.Key)
	return err
}

// write makes a record the app's stored one. The caller holds book.
func (l *ledger) write(ctx context.Context, to inventory.Store, r inventory.Record) error {
	err := to.Save(ctx, r)
	if err == nil || errors.Is(err, inventory.ErrChanged) { // what is owed was built on another record
		l.owed = nil
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
	l := &r.state.ledger
	l.book.Lock()
	if l.owed == nil {
		l.since = r.engine.Now()
	}
	l.owed = &next
	l.book.Unlock()
	r.engine.Owed(r.app.Key)
	return nil
}

// close drops what is owed: nobody may write the record of an app that ends but whoever ends it.
func (l *ledger) close() {
	l.book.Lock()
	defer l.book.Unlock()
	l.owed = nil
}

// save makes a record the app's stored one, in place of what is owed.
func (e *Engine) save(ctx context.Context, r inventory.Record) error {
	s := e.known(r.App)
	if s == nil { // its custom resource is being deleted
		return e.Inventory.Save(ctx, r)
	}
	s.ledger.book.Lock()
	defer s.ledger.book.Unlock()
	return s.ledger.write(ctx, e.Inventory, r)
}

// WriteRecord writes down what the app's last run has left to be written. It may block; that nothing is left is no error.
func (e *Engine) WriteRecord(ctx context.Context, key app.Key) error {
	s := e.known(key)
	if s == nil {
		return nil
	}
	s.ledger.book.Lock()
	defer s.ledger.book.Unlock()
	if s.ledger.owed == nil {
		return nil
	}
	err := s.ledger.write(ctx, e.Inventory, *s.ledger.owed)
	if errors.Is(err, inventory.ErrChanged) {
		e.Rerun(key) // reads what is there, and adds to it
		return nil
	}
	return err
}

// OwedSince says since when the app's record has been left to be written; zero if it has not.
func (e *Engine) OwedSince(key app.Key) time.Time {
	s := e.known(key)
	if s == nil {
		return time.Time{}
	}
	s.ledger.book.Lock()
	defer s.ledger.book.Unlock()
	if s.ledger.owed == nil {
		return time.Time{}
	}
	return s.ledger.since
}

// Owing lists the apps whose records are left to be written.
func (e *Engine) Owing() []app.Key {
	e.mu.RLock()
	keys := slices.Collect(maps.Keys(e.apps))
	e.mu.RUnlock() // a run that holds a book may wait for it
	return slices.DeleteFunc(keys, func(key app.Key) bool { return e.OwedSince(key).IsZero() })
}

// known returns what the engine knows of an app, nil for nothing.
func (e *Engine) known(key app.Key) *state {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.apps[key]
}
