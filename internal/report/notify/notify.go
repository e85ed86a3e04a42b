// Package notify answers: who else should know?
//
// In: what happened to an app, in its dialect's words, and with the evidence.
// Out: the same at a receiver's.
// Promise: no worker waits for a receiver; a message is the text of an Event, redacted like it; a message that does not arrive loses no state.
// Not here: which news there are (front, controller), the forms of receivers (the children).
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
}

// Message is news of one app, or of another object that is truce's own affair.
type Message struct {
	Event
	About      object.ID
	APIVersion string // of About
	UID        string
	// Evidence are facts by their names, beside the text: the field, its values in Git and live, who wrote it.
	Evidence map[string]string
	At       time.Time
}

// Sender brings messages to a receiver. It blocks until the message has arrived, or will not.
type Sender interface {
	Send(ctx context.Context, m Message) error
}
