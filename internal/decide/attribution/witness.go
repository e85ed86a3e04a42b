// Package attribution answers: who sent this write?
//
// In: what each witness says: managedFields (as compare has read them), the claim on the field, what admission saw, Events, and what
// was reported with the same value before.
// Out: one attribution with its evidence; the Records of admission reviews, in a ring; the configuration by which they are sent.
// Promise: pure but for the ring's memory, which is bounded; what is not known is not named; no value is kept, only hashes under the
// process's key, and of a Secret not even those.
// Not here: receiving reviews and reading Events (children), what follows from an attribution (decide).
package attribution

import (
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Record is one write as admission saw it, shortly before the server stored it. (It may still have been refused after that.)
type Record struct {
	At          time.Time
	Object      object.ID
	UID         string // of the object
	User        string
	Groups      []string
	Manager     string // the request's fieldManager; empty where the server takes it from the user agent, which admission does not get
	Operation   string // CREATE, UPDATE, DELETE
	Subresource string // scale, status, or empty
	Changes     []Change
}

// Change is one field that a write changed.
type Change struct {
	Path   string // printed, as field.PathString does
	To     uint64 // hash of the new value; 0 for none, and for a Secret
	Hidden bool   // the value is secret: there is no hash of it
	// Mutated says that the sender did not write the field: a mutating webhook or policy changed it during the request.
	Mutated bool
}

// Event is a Kubernetes Event about an object or a claimant of it.
type Event struct {
	At       time.Time // its newest time
	About    object.ID // group and kind as the event has them
	Reporter string    // the controller that wrote it
	Reason   string
	Message  string
}

// EarlierAnswer is what was said before of a field that held a value.
type EarlierAnswer struct {
	Path        string
	Live        redact.Raw
	Writer      ownership.Writer
	SameProcess bool // this process said it when it saw the value first, and has seen the field ever since
}

// Statements are what the witnesses say of one object.
type Statements struct {
	Records     []Record // the newest first
	Events      []Event
	Earlier     []EarlierAnswer // the newest first
	Changes     map[string]int  // by printed path: changes within the last hour, for who remembers none itself
	Unavailable string          // what could not be asked, and why
}

// Empty reports whether no source has a record.
func (s Statements) Empty() bool {
	return len(s.Records)+len(s.Events)+len(s.Earlier)+len(s.Changes) == 0 && s.Unavailable == ""
}

// sender names who sent the write: "kubectl (scale)", or the user where no manager is named.
func (r Record) sender() string {
	name := r.Manager
	if name == "" {
		name = r.User
	}
	if r.Subresource != "" {
		name += " (" + r.Subresource + ")"
	}
	return name
}

// account is the sender with the user behind it.
func (r Record) account() string {
	if r.Manager == "" {
		return r.sender()
	}
	return r.sender() + " as " + r.User
}

// touch is how a record's write touched a field.
type touch int

const (
	apart   touch = iota
	near          // it changed a part of the field, or the whole of which the field is a part
	exactly       // it gave the field the value that is live
	other         // it gave it another value
)

// touched says what the write did to a field, by its printed path and the hash of its live value.
func (r Record) touched(path string, live uint64) (touch, Change) {
	if r.Operation != updated {
		return near, Change{}
	}
	best, by := apart, Change{}
	for _, c := range r.Changes {
		switch {
		case c.Path == path && !c.Hidden && c.To == live:
			return exactly, c
		case c.Path == path && !c.Hidden:
			return other, c
		case c.Path == path || isBelow(path, c.Path) || isBelow(c.Path, path):
			best, by = near, c
		}
	}
	return best, by
}

// isBelow reports whether the printed path p lies in q.
func isBelow(p, q string) bool {
	if q == root {
		return p != root
	}
	rest, ok := strings.CutPrefix(p, q)
	return ok && rest != "" && (rest[0] == '.' || rest[0] == '[')
}

// root is how field.PathString prints the path of a whole object.
const root = "."
