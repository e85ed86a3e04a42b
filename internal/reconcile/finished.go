package reconcile

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// expiryTolerance is how much earlier than expected the cluster may delete an object that has done its work: its clock is another one.
const expiryTolerance = 5 * time.Second

// isExpired reports whether an object that is gone has been deleted by the cluster because it had done its work, and not by another before that.
func isExpired(expires int64, now time.Time) bool {
	return expires != 0 && now.Add(expiryTolerance).Unix() >= expires
}

// keepExpiry keeps when the cluster deletes the object because it has done its work, and has it written down: after a restart nothing else
// shows that its absence is no drift. The caller holds mu.
func (r *managedObject) keepExpiry(e *Engine, at time.Time) {
	expires := int64(0)
	if !at.IsZero() {
		expires = at.Unix()
	}
	if expires == r.expires {
		return
	}
	if r.expires = expires; expires != 0 {
		r.isExpiryNew = true
		e.queue.EnqueueInventory(r.owner)
	}
}

// forgetExpiry has an object created again that was gone before an operation began, although it had done its work; begun is zero for no operation.
func (r *managedObject) forgetExpiry(begun time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.expires != 0 && !begun.IsZero() && r.expires <= begun.Unix() {
		r.expires, r.forced = 0, true
	}
}

// runsAgainSince is when the operation began that creates an object once more that has done its work: a release has all of its objects there,
// as with Helm, and an order those that a person has named. Zero for no such operation.
func (r *appRun) runsAgainSince(id object.ID) time.Time {
	named := len(r.app.SyncRequest.Objects) > 0 && r.app.SyncRequest.Covers(id)
	if r.purpose == rollingOut && (named || r.chart.made != nil) {
		return r.report.Rollout.Begun
	}
	return time.Time{}
}

// withExpiries is what is owed of an app's record, with the expiries that became known since it was written, and the objects that these are
// of. Nil where nothing is to be written. The caller has the turn.
func (e *Engine) withExpiries(ctx context.Context, key app.Key, s *appState, owed *inventory.Record) (*inventory.Record, []*managedObject, error) {
	ended, base := e.newlyExpiring(s), owed
	if len(ended) == 0 {
		return owed, nil, nil
	}
	if base == nil {
		stored, err := e.Inventory.Load(ctx, key)
		if err != nil {
			return nil, nil, err
		}
		base = &stored
	}
	var entries []inventory.Entry
	for _, entry := range base.Entries {
		rec := ended[entry.ID]
		if rec == nil {
			continue
		}
		rec.mu.Lock()
		entry.Expires = rec.expires
		rec.mu.Unlock()
		entries = append(entries, entry)
	}
	all := slices.Collect(maps.Values(ended))
	if len(entries) == 0 {
		return owed, all, nil
	}
	next := inventory.MergeEntries(*base, entries)
	return &next, all, nil
}

// newlyExpiring are the app's objects of which the stored inventory does not say that they have done their work.
func (e *Engine) newlyExpiring(s *appState) map[object.ID]*managedObject {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.app.Policy.Mode == policy.Observe {
		return nil
	}
	out := map[object.ID]*managedObject{}
	for id := range s.wanted {
		rec := e.lookup(id)
		if rec == nil {
			continue
		}
		rec.mu.Lock()
		if rec.isExpiryNew && rec.owner == s.app.Key {
			out[id] = rec
		}
		rec.mu.Unlock()
	}
	return out
}

// markExpiriesStored says that the stored inventory has the expiries of the objects.
func markExpiriesStored(of []*managedObject) {
	for _, rec := range of {
		rec.mu.Lock()
		rec.isExpiryNew = false
		rec.mu.Unlock()
	}
}
