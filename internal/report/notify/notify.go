// Package notify answers: who else should know?
//
// In: what happened to an app, in its dialect's words, and with the evidence.
// Out: the same at a receiver's.
// Promise: no worker waits for a receiver; a message is the text of an Event, redacted like it; a message that does not arrive loses no state.
// Not here: which news there are (dialect, controller), the forms of receivers (the children).
package notify

import (
	"context"
	"time"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Severity is how much a message matters. The zero value is unknown.
type Severity string

// The severities, in the words of Flux's Alert spec.eventSeverity.
const (
	Info  Severity = "info"
	Error Severity = "error"
)

// Event is one thing that has happened.
type Event struct {
	Severity Severity
	Reason   string // one word in CamelCase
	Text     string
	Revision string // of the source that it is about; empty for none
	// AppVersion is what a Helm release has installed, as its chart says, and Digest that of the chart's artifact in a registry; empty for none.
	AppVersion, Digest string `json:",omitempty"`
}

// OwnMetadata are the facts of the event by the names that they have in the metadata of Flux's Events; empty ones too.
func (m Message) OwnMetadata() map[string]string {
	return map[string]string{"revision": m.Revision, "originRevision": m.Origin, "app-version": m.AppVersion, "oci-digest": m.Digest}
}

// Message is news of one app, or of another object that is truce's own affair.
type Message struct {
	Event
	About      object.ID
	APIVersion string // of About
	UID        string
	// Labels and Annotations are About's: Alerts choose by the first, and the second may hold metadata for messages.
	Labels, Annotations map[string]string `json:",omitempty"`
	// Origin is the revision of Git that an artifact of another source was made of, as its publisher says; empty for none.
	Origin string `json:",omitempty"`
	// Evidence are facts by their names, beside the text: the field, its values in Git and live, who wrote it.
	Evidence map[string]string `json:",omitempty"`
	Matter   Matter
	// Cause is an object whose own message says the same of all that depend on it: who gets that does not need this one; the zero value for none.
	Cause object.ID `json:",omitzero"`
	At    time.Time
}

// The names of facts in Evidence that senders show in this order, before all others.
const (
	FactObject    = "object"
	FactChanged   = "changed" // which objects a revision has created and configured
	FactField     = "field"
	FactGit       = "git"       // the value in Git
	FactLive      = "live"      // the value in the cluster
	FactWriter    = "writer"    // who wrote the live value
	FactCertainty = "certainty" // how the writer is known: recorded, inferred, unknown
	FactClaimant  = "claimant"
	FactVerdict   = "verdict"
	FactBecause   = "because"
	FactSource    = "source" // file:line in Git
	FactNext      = "next"   // what to do
)

// FactNames returns the names of facts in the order in which people read them.
func FactNames() []string {
	return []string{FactObject, FactChanged, FactField, FactGit, FactLive, FactWriter, FactCertainty, FactClaimant, FactVerdict, FactBecause, FactSource, FactNext}
}

// Phase says what a message is in the course of its matter.
type Phase string

// The phases. The zero value is a message that belongs to no matter.
const (
	Once  Phase = ""
	Opens Phase = "opens" // the matter holds from now on, or holds still in another form
	Ends  Phase = "ends"
)

// Matter is what a message is about, as far as it lasts: a difference that stays, a fight, a run that fails. There is one of each kind, object and field
// of an app.
type Matter struct {
	Kind   string `json:",omitempty"` // such as "drift"; empty for a message that belongs to none
	Object string `json:",omitempty"`
	Field  string `json:",omitempty"`
	Phase  Phase  `json:",omitempty"`
	// Form is what of the matter is worth another message when it changes.
	Form string `json:",omitempty"`
	// Detail is worth another message too, at most once within matter.Repeat: a value that others write again and again.
	Detail string `json:",omitempty"`
}

// Sender brings messages to a receiver. It blocks until the message has arrived, or will not.
type Sender interface {
	Send(ctx context.Context, m Message) error
}

// Outlet takes the messages of a controller to the Providers of its cluster. All methods but Run do not block, and may be called from any goroutine.
type Outlet interface {
	// Accept takes a message.
	Accept(m Message)
	// AcceptAgain takes a message that an earlier process may have sent: it is news if it opens a matter that is not open, or ends one that is.
	AcceptAgain(m Message)
	// Settle ends the lasting matters of an app that are not in open; their messages are of the given time and app.
	Settle(of Message, open []Matter)
	// Forget ends all matters of an app that was deleted: only an alert that a receiver has open is closed, by this message.
	Forget(of Message)
	// Retain is Forget for each object that was not there at a time, of a group and kind, in one namespace, or in all of them where that is empty. All that were there
	// are in there, which is the Outlet's then.
	Retain(of Message, there map[object.ID]bool)
	// Run works until ctx ends.
	Run(ctx context.Context) error
}
