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

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// EntryKind says what kind of thing happened.
type EntryKind string

// The things that happen.
const (
	Corrected EntryKind = "corrected" // Git's value was put back
	Ceded     EntryKind = "ceded"     // a field was left to its claimant, at a value not seen before
	Held      EntryKind = "held"      // a field differs and stays so for now
	Contested EntryKind = "contested" // a field goes back and forth, and is left alone for a while
	Returned  EntryKind = "returned"  // a field that was left is as Git wants again: another writer restored it
	Ended     EntryKind = "ended"     // a field that was held or contested is no more, and neither truce nor another writer restored it: Reason
	Applied   EntryKind = "applied"   // a revision was applied whole
	Failed    EntryKind = "failed"    // a run stopped
	Suspended EntryKind = "suspended" // an app was suspended
	Lost      EntryKind = "lost"      // the controller that an app was adopted from writes again: truce only observes the app
	Pruned    EntryKind = "pruned"    // an object was deleted, as Reason says why
	Recreated EntryKind = "recreated" // an object whose change the API server refuses was deleted, to be created as Git has it
	Released  EntryKind = "released"  // a Helm release was installed, upgraded, rolled back or uninstalled, see Action
	Degraded  EntryKind = "degraded"  // an app became degraded, or the cause of that became known
	Recovered EntryKind = "recovered" // an app that was degraded is healthy
)

// LeftGit is the Reason of Pruned where a revision no longer describes the object.
const LeftGit = "Git no longer has it"

// IsOfField reports whether entries of the kind are about a field that differs, or about an object that is missing.
func (k EntryKind) IsOfField() bool {
	switch k {
	case Corrected, Ceded, Held, Contested, Returned, Ended:
		return true
	default:
		return false
	}
}

// Entry is one thing that happened.
type Entry struct {
	At       time.Time `json:"at"`
	App      app.Key   `json:"app"`
	What     EntryKind `json:"what"`
	Object   object.ID `json:"object,omitzero"`
	Cluster  string    `json:"cluster,omitempty"` // that the object is in, where that is not the cluster of the app's custom resource
	Path     string    `json:"path,omitempty"`    // printed; empty for the object as a whole
	Git      any       `json:"git,omitempty"`
	Live     any       `json:"live,omitempty"`
	Writer   string    `json:"writer,omitempty"`   // who set Live
	Manager  string    `json:"manager,omitempty"`  // the field manager, where one is recorded
	Person   bool      `json:"person,omitempty"`   // whether a person sits behind it
	User     string    `json:"user,omitempty"`     // who sent that write, where the admission witness saw it
	During   string    `json:"during,omitempty"`   // whose write it was, where Writer is a mutating webhook
	Written  time.Time `json:"written,omitzero"`   // when, where that is recorded
	AtLatest bool      `json:"atLatest,omitempty"` // Written is only a bound: it was then or before
	Before   any       `json:"before,omitempty"`   // what the field held before Live, where that was seen
	Often    int       `json:"often,omitempty"`    // how often another value was set within an hour, this time included
	Because  []string  `json:"because,omitempty"`  // what each witness says
	Evidence string    `json:"evidence,omitempty"`
	Claimant string    `json:"claimant,omitempty"`
	Revision string    `json:"revision,omitempty"`
	Place    string    `json:"place,omitempty"`  // where Git writes the field at that revision: file:line, or a field of the app; noted where only a commit ends it
	Begins   string    `json:"begins,omitempty"` // the file and line at which Git's object begins
	Reason   string    `json:"reason,omitempty"`
	NoFiles  bool      `json:"noFiles,omitempty"` // a run stopped, for its source does not have what the app names
	Action   string    `json:"action,omitempty"`  // of a release: install, upgrade, rollback or uninstall
}

// By names the writer as truce shows one: "kubectl (scale) as alice"; empty where it is not known.
func (e Entry) By() string {
	if e.Writer == "" {
		return ""
	}
	w := ownership.Writer{Name: e.Writer, Manager: e.Manager, User: e.User, During: e.During, Evidence: ownership.Evidence(e.Evidence)}
	return w.String()
}

// Query chooses entries. Zero parts match everything.
type Query struct {
	Since  time.Time
	Until  time.Time
	App    app.Key   // an empty Kind matches both dialects'
	Object object.ID // in the cluster of the custom resources
}

// Matches reports whether the query chooses the entry.
func (q Query) Matches(e Entry) bool {
	switch {
	case !q.Since.IsZero() && e.At.Before(q.Since), !q.Until.IsZero() && e.At.After(q.Until):
		return false
	case q.App.Name != "" && q.App.Name != e.App.Name, q.App.Namespace != "" && q.App.Namespace != e.App.Namespace:
		return false
	case q.App.Kind != "" && q.App.Kind != e.App.Kind:
		return false
	}
	return q.Object == object.ID{} || q.Object == e.Object && e.Cluster == ""
}

// Journal keeps entries. It may be called concurrently.
type Journal interface {
	// Append notes entries. It does not wait until they are safe: that takes a moment.
	Append(entries ...Entry)
	// Read hands entries to seen, oldest first, until that returns false.
	Read(q Query, seen func(Entry) bool) error
}

// MemoryStore keep what truce remembers of single objects. They may be called concurrently.
type MemoryStore interface {
	// Remember keeps a memory in place of the one before; nil forgets. It does not wait until that is safe.
	Remember(id object.ID, memory []byte)
	// Recall returns the memory of an object, nil if there is none.
	Recall(id object.ID) ([]byte, error)
}
