// Package inventory answers: what have we put there?
//
// In: the objects that a run is about to make, and what became of them.
// Out: a Record for each app, written ahead of each object; a dialect's own inventory is a projection of it.
// Promise: what truce made is never forgotten: names are added before the first write and leave only after a delete, or when the
// object turned out not to be ours. A record that cannot be read is an error, never an empty one.
// Not here: where records are kept (children), what leaves the cluster (decide).
package inventory

import (
	"context"
	"errors"
	"slices"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

// ErrChanged says that another writer changed or removed the stored record since it was loaded: load it again and start over.
var ErrChanged = errors.New("the record was changed by another writer")

// Record is what we have put there for one app. Entries are in ID order, one for each ID.
type Record struct {
	App      app.Key
	AppUID   string
	Revision string // the newest that was applied whole
	Entries  []Entry
	// Rendered says of what the entries were rendered, as the engine writes it, so that another process need not render to know that they are what
	// Git describes. Empty where they may be something else: it goes with the first change of their names.
	Rendered string
	Guard    Guard
	// Operation is how far the app's newest operation has come, where it has hooks.
	Operation Operation
	// Unverified is why the signature of the stored record was not verified, empty where it was: nothing is deleted because of such a record.
	// See Unverified.
	Unverified string
}

// Unverified returns a record whose signature was not verified, with what is used of it all the same: the names, the cluster, the digests of
// what was applied, and what its operation is about. Without uids an object is the app's only if truce's own apply has put this app's mark on it; that
// one has done its work is not believed, nor that a hook has run, whose object is deleted by its name alone. Without a reason why it is the record
// itself, and one that names nothing has no reason.
func Unverified(r Record, why string) Record {
	if why == "" {
		return r
	}
	if len(r.Entries)+len(r.Operation.Hooks)+len(r.Operation.Left) > 0 {
		r.Unverified = why
	}
	r.Rendered, r.Guard = "", Guard{Origin: Origin{Cluster: r.Guard.Origin.Cluster}} // a wrong cluster only keeps the app from going on
	r.Operation = r.Operation.notBegun()
	r.Entries = slices.Clone(r.Entries)
	for i := range r.Entries {
		r.Entries[i].UID, r.Entries[i].Judged, r.Entries[i].Expires = "", "", 0
	}
	return r
}

// Entry is one object that we made, or are about to.
type Entry struct {
	ID      object.ID
	Version string // the API version that it was last named in
	UID     string // empty until the server has answered
	Sent    string // desired.Object.Digest of what was last applied; empty for unknown
	// Judged is the state (unchanged.State) in which the object was found to be as Git wants, after Sent was applied; empty for unknown. An object
	// that a list shows in that state has not changed since.
	Judged string
	// Expires is when the cluster deletes the object because it has done its work (health.Expiry), in seconds since 1970; 0 for one that has not,
	// or that stays.
	Expires int64
	// Found says that it was there before we took it over, and that others had added fields to it, or that this is unknown.
	Found bool
}

// Store keeps records. It may be called concurrently for different apps, and blocks until the record is safe.
type Store interface {
	// Load returns an app's record: one without entries if there is none.
	Load(ctx context.Context, key app.Key) (Record, error)
	// Save writes the record if it is not what is there already. It writes over nothing but what Load or Save last saw
	// of that app: ErrChanged otherwise.
	Save(ctx context.Context, r Record) error
	// Delete removes the record, if it is what was last seen (ErrChanged otherwise); that there is none is no error.
	Delete(ctx context.Context, key app.Key) error
	// HookHolders returns the apps whose records have an object as that of a hook, verified or not, also apps that are gone.
	HookHolders(ctx context.Context, id object.ID) ([]app.Key, error)
}

// AddEntries returns the record with the entries that are about to be made; what is known of them already stays.
func AddEntries(r Record, entries []Entry) Record {
	return editEntries(r, func(all map[object.ID]Entry) {
		for _, e := range entries {
			old := all[e.ID]
			old.ID, old.Version = e.ID, e.Version
			all[e.ID] = old
		}
	})
}

// MergeEntries returns the record with what is now known of its entries. An empty uid or digest teaches nothing; an empty Judged takes back what was
// judged before.
func MergeEntries(r Record, entries []Entry) Record {
	return editEntries(r, func(all map[object.ID]Entry) {
		for _, e := range entries {
			old := all[e.ID]
			if e.UID == "" {
				e.UID = old.UID
			}
			if e.Sent == "" {
				e.Sent = old.Sent
			}
			all[e.ID] = e
		}
	})
}

// RemoveEntries returns the record without the objects.
func RemoveEntries(r Record, ids []object.ID) Record {
	return editEntries(r, func(all map[object.ID]Entry) {
		for _, id := range ids {
			delete(all, id)
		}
	})
}

func editEntries(r Record, change func(map[object.ID]Entry)) Record {
	all := make(map[object.ID]Entry, len(r.Entries))
	for _, e := range r.Entries {
		all[e.ID] = e
	}
	change(all)
	if len(all) != len(r.Entries) || slices.ContainsFunc(r.Entries, func(e Entry) bool { _, still := all[e.ID]; return !still }) {
		r.Rendered = ""
	}
	r.Entries = make([]Entry, 0, len(all))
	for _, e := range all {
		r.Entries = append(r.Entries, e)
	}
	slices.SortFunc(r.Entries, inOrder)
	return r
}
