// Package journal answers: what happened lately, across restarts?
//
// In: what truce saw and did, entry by entry; what it remembers of an object's fields.
// Out: the entries in the order of time; the memory of an object; which fields went back and forth.
// Promise: writing never blocks who works; what was written survives a restart and, but for its last moment, a SIGKILL; it is bounded in
// size and age; values of Secrets are masked by the writer of an entry.
// Not here: where it is kept (children), what to conclude from it (fight, decide).
package journal

import (
	"time"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
)

// What says what kind of thing happened.
type What string

// The things that happen.
const (
	Corrected What = "corrected" // Git's value was put back
	Ceded     What = "ceded"     // a field was left to its claimant, at a value not seen before
	Held      What = "held"      // a field differs and stays so for now
	Contested What = "contested" // a field goes back and forth, and is left alone for a while
	Applied   What = "applied"   // a revision was applied whole
	Failed    What = "failed"    // a run stopped
)

// Entry is one thing that happened.
type Entry struct {
	At       time.Time `json:"at"`
	App      app.Key   `json:"app"`
	What     What      `json:"what"`
	Object   object.ID `json:"object,omitzero"`
	Path     string    `json:"path,omitempty"` // printed; empty for the object as a whole
	Git      any       `json:"git,omitempty"`
	Live     any       `json:"live,omitempty"`
	Writer   string    `json:"writer,omitempty"` // who set Live
	Evidence string    `json:"evidence,omitempty"`
	Claimant string    `json:"claimant,omitempty"`
	Revision string    `json:"revision,omitempty"`
	Reason   string    `json:"reason,omitempty"`
}

// Query chooses entries. Zero parts match everything.
type Query struct {
	Since  time.Time
	Until  time.Time
	App    app.Key // an empty Kind matches both dialects'
	Object object.ID
}

// Matches reports whether the query chooses the entry.
func (q Query) Matches(e Entry) bool {
	switch {
	case !q.Since.IsZero() && e.At.Before(q.Since), !q.Until.IsZero() && e.At.After(q.Until):
		return false
	case q.App.Name != "" && (q.App.Name != e.App.Name || q.App.Namespace != e.App.Namespace):
		return false
	case q.App.Kind != "" && q.App.Kind != e.App.Kind:
		return false
	}
	return q.Object == object.ID{} || q.Object == e.Object
}

// Journal keeps entries. It may be called concurrently.
type Journal interface {
	// Append notes entries. It does not wait until they are safe: that takes a moment.
	Append(entries ...Entry)
	// Read hands entries to seen, oldest first, until that returns false.
	Read(q Query, seen func(Entry) bool) error
}

// Memories keep what truce remembers of single objects. They may be called concurrently.
type Memories interface {
	// Remember keeps a memory in place of the one before; nil forgets. It does not wait until that is safe.
	Remember(id object.ID, memory []byte)
	// Recall returns the memory of an object, nil if there is none.
	Recall(id object.ID) ([]byte, error)
}
