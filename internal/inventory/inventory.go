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
	"encoding/json"
	"fmt"
	"slices"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
)

// Record is what we have put there for one app. Entries are in ID order, one for each ID.
type Record struct {
	App      app.Key
	AppUID   string
	Revision string // the newest that was applied whole
	Entries  []Entry
}

// Entry is one object that we made, or are about to.
type Entry struct {
	ID      object.ID
	Version string // the API version that it was last named in
	UID     string // empty until the server has answered
	Sent    string // desired.Object.Digest of what was last applied; empty for unknown
}

// Store keeps records. It may be called concurrently for different apps, and blocks until the record is safe.
type Store interface {
	// Load returns an app's record: one without entries if there is none.
	Load(ctx context.Context, key app.Key) (Record, error)
	// Save writes the record if it is not what is there already.
	Save(ctx context.Context, r Record) error
	// Delete removes the record; that there is none is no error.
	Delete(ctx context.Context, key app.Key) error
}

// Ahead returns the record with the entries that are about to be made; what is known of them already stays.
func Ahead(r Record, entries []Entry) Record {
	return edit(r, func(all map[object.ID]Entry) {
		for _, e := range entries {
			old := all[e.ID]
			old.ID, old.Version = e.ID, e.Version
			all[e.ID] = old
		}
	})
}

// Merge returns the record with what is now known of its entries. An empty uid or digest teaches nothing.
func Merge(r Record, entries []Entry) Record {
	return edit(r, func(all map[object.ID]Entry) {
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

// Without returns the record without the objects.
func Without(r Record, ids []object.ID) Record {
	return edit(r, func(all map[object.ID]Entry) {
		for _, id := range ids {
			delete(all, id)
		}
	})
}

func edit(r Record, change func(map[object.ID]Entry)) Record {
	all := make(map[object.ID]Entry, len(r.Entries))
	for _, e := range r.Entries {
		all[e.ID] = e
	}
	change(all)
	r.Entries = make([]Entry, 0, len(all))
	for _, e := range all {
		r.Entries = append(r.Entries, e)
	}
	slices.SortFunc(r.Entries, func(a, b Entry) int { return a.ID.Compare(b.ID) })
	return r
}

// format is the version of the text form. A newer one is refused: an older truce would forget what it cannot read.
const format = 1

type document struct {
	Format   int        `json:"format"`
	Kind     string     `json:"kind"`
	Name     string     `json:"name"`
	Space    string     `json:"namespace"`
	UID      string     `json:"uid,omitempty"`
	Revision string     `json:"revision,omitempty"`
	Entries  [][]string `json:"entries"` // group, version, kind, namespace, name, uid, digest
}

const entryFields = 7

// Print writes a record as text.
func Print(r Record) ([]byte, error) {
	d := document{Format: format, Kind: r.App.Kind, Name: r.App.Name, Space: r.App.Namespace, UID: r.AppUID, Revision: r.Revision, Entries: [][]string{}}
	for _, e := range r.Entries {
		d.Entries = append(d.Entries, []string{e.ID.Group, e.Version, e.ID.Kind, e.ID.Namespace, e.ID.Name, e.UID, e.Sent})
	}
	return json.Marshal(d)
}

// Parse reads what Print wrote.
func Parse(text []byte) (Record, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return Record{}, fmt.Errorf("read inventory: %w", err)
	}
	if d.Format != format {
		return Record{}, fmt.Errorf("read inventory: format %d, this truce reads %d", d.Format, format)
	}
	r := Record{App: app.Key{Kind: d.Kind, Namespace: d.Space, Name: d.Name}, AppUID: d.UID, Revision: d.Revision}
	for i, f := range d.Entries {
		if len(f) != entryFields {
			return Record{}, fmt.Errorf("read inventory: entry %d has %d parts, want %d", i, len(f), entryFields)
		}
		r.Entries = append(r.Entries, Entry{
			ID: object.ID{Group: f[0], Kind: f[2], Namespace: f[3], Name: f[4]}, Version: f[1], UID: f[5], Sent: f[6],
		})
	}
	return r, nil
}
