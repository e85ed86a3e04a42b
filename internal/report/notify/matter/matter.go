// Package matter answers: is this message worth sending, or has it been said?
//
// In: the state of one matter, and a message about it; or that it holds no more.
// Out: the next state, and the message to send, if any.
// Promise: pure; of each matter one message when it opens, one when its form changes, and one when it ends; the same message of no matter is
// said once within Repeat.
// Not here: keeping the state (outbox), who gets a message (route), what is joined with what (deliver).
package matter

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/report/notify"
)

// Repeat is how long a message that belongs to no lasting matter is not repeated, as --rate-limit-interval of Flux's notification-controller.
const Repeat = 5 * time.Minute

// The kinds of matters.
const (
	Drift     = "drift"
	Contested = "contested"
	Ceded     = "ceded"
	Addition  = "addition"
	Failure   = "failure" // of an app's run
	HeldPrune = "prune"   // that waits for a person
	Unhealthy = "health"  // of an app that is degraded
	// Progress is a run that is under way: the status of its commit shows it, and no message is sent.
	Progress = "progress"
)

// State is what is remembered of a matter. The zero value is one that is not open.
type State struct {
	Open   bool           `json:"open,omitempty"`
	Form   string         `json:"form,omitempty"`
	At     time.Time      `json:"at"`               // of the newest message that was said
	Opened notify.Message `json:"opened,omitempty"` // the newest one, of an open matter
	// Sent is what on-call tools have open, by the Alerts; nil where that was not stored. Of a matter that is not open it is what could not be closed, for the Alert or the
	// Provider is suspended; Opened is the message then, too.
	Sent map[string]Sent `json:"sent"`
	// Heard are the Alerts by which the newest message of an open matter was queued, with their Providers; nil where that was not stored.
	Heard map[string]string `json:"heard"`
	// Later is a message of an open matter that has another detail, and comes too soon after the one before; nil for none.
	Later *notify.Message `json:"later,omitempty"`
	// Stale says of an open matter that another process has worked since with a file of its own: whether it holds is not known.
	Stale bool `json:"stale,omitempty"`
	// Settled says of a matter that is not open that on-call tools have nothing open of it. It is remembered for a while.
	Settled bool `json:"settled,omitempty"`
}

// Sent is an alert as a receiver knows it: what has changed in the cluster since then names another one.
type Sent struct {
	Namespace, Provider string // the receiver
	Severity            notify.Severity
	Reason              string
	At                  time.Time
	Metadata            map[string]string
}

// MessageSent returns what a receiver has open of the matter, as it was sent.
func (s State) MessageSent(sent Sent) notify.Message {
	m := s.Opened
	m.Severity, m.Reason, m.At, m.Labels, m.Annotations = sent.Severity, sent.Reason, sent.At, nil, nil
	return m
}

// KeyOf names the matter of a message: the app, the kind of matter, the object and the field. A message of no matter is one of its own, by its words (formOfMessage).
func KeyOf(m notify.Message) string {
	parts := []string{m.About.String(), m.Matter.Kind, m.Matter.Object, m.Matter.Field}
	if m.Matter.Kind == "" {
		parts = []string{m.About.String(), "", formOfMessage(m)}
	}
	key := strings.Join(parts, "\x00")
	if len(key) > longestKey { // the store takes no key of more than 32 KiB
		sum := sha256.Sum256([]byte(key))
		key = PrefixOf(m) + hex.EncodeToString(sum[:])
	}
	return key
}

// longestKey is how long a key may be, in bytes.
const longestKey = 16 << 10

// PrefixOf is what the keys of an app's matters begin with.
func PrefixOf(m notify.Message) string { return m.About.String() + "\x00" }

// Advance returns what becomes of a matter with a message, and whether the message is to be said:
//
//	| state  | message            | next   | said                        |
//	|--------|--------------------|--------|-----------------------------|
//	| any    | of no matter       | closed | unless said within Repeat   |
//	| closed | opens              | open   | yes                         |
//	| open   | opens, same form or none | open | no                      |
//	| open   | opens, same form, other detail | open | once within Repeat, the newest |
//	| open   | opens, other form  | open   | yes                         |
//	| open   | ends               | closed | yes                         |
//	| closed | ends               | closed | unless said within Repeat   |
//	| any    | of Progress        | as it is | no                        |
//
// The line before the last is for what opened and ended between two looks: the message of the end says it all. What may have ended unseen, of an earlier app
// of the same name or of an earlier term, is another matter than what opens, whatever its form.
func Advance(was State, m notify.Message) (State, bool) {
	switch {
	case m.Matter.Kind == Progress:
		return was, false
	case m.Matter.Kind == "" || m.Matter.Phase == notify.Once, m.Matter.Phase == notify.Ends && !was.Open:
		form := formOfMessage(m)
		if was.Form == form && m.At.Sub(was.At) < Repeat {
			return was, false
		}
		return State{Form: form, At: m.At}, true
	case m.Matter.Phase == notify.Ends:
		return State{Form: formOfMessage(m), At: m.At}, true
	case was.Open && !was.mayBeOver(m) && (was.Form == m.Matter.Form || m.Matter.Form == ""):
		return was.repeatedBy(m)
	}
	return State{Open: true, Form: m.Matter.Form, At: m.At, Opened: m}, true
}

// repeatedBy is Advance of an open matter with a message that has its form, or none.
func (s State) repeatedBy(m notify.Message) (State, bool) {
	switch {
	case m.Matter.Form == "":
		return s, false
	case m.Matter.Detail == s.Opened.Matter.Detail:
		s.Later = nil
		return s, false
	case m.At.Sub(s.At) < Repeat:
		s.Later = &m
		return s, false
	}
	return State{Open: true, Form: m.Matter.Form, At: m.At, Opened: m}, true
}

// Due returns when the Later of a matter is to be said; zero for never.
func (s State) Due() time.Time {
	if !s.Open || s.Later == nil {
		return time.Time{}
	}
	return s.At.Add(Repeat)
}

// mayBeOver reports whether an open matter may have ended unseen before a message: it is Stale, or was that of an earlier app of the same name.
func (s State) mayBeOver(m notify.Message) bool {
	return s.Stale || s.Opened.UID != "" && m.UID != "" && s.Opened.UID != m.UID
}

// IsUnknown reports whether nothing is known of a matter: it never was, is forgotten, or was said by a process with another file.
func (s State) IsUnknown() bool { return !s.Open && s.At.IsZero() }

// formOfMessage is what makes a message the same as another one that was said: its reason, its revision and its text, of an error without what varies in it.
func formOfMessage(m notify.Message) string {
	text := m.Text
	if m.Severity == notify.Error {
		text = withoutVarying(text)
	}
	return m.Reason + "\x00" + m.Revision + "\x00" + text
}

// ChangesNothing reports whether a message is the end of a failure of which there was none, of a revision that has changed no object: as in Flux, it is for the
// status of the commit, and for programs that take whatever comes.
func ChangesNothing(was State, m notify.Message) bool {
	return m.Reason == "ReconciliationSucceeded" && m.Matter.Kind == Failure && m.Matter.Phase == notify.Ends && !was.Open && m.Evidence[notify.FactChanged] == ""
}

// longestSuspension is how long an end waits for an Alert or a Provider that is suspended, and how long a matter is Settled.
const longestSuspension = 30 * 24 * time.Hour

// Expired reports whether nothing depends on a state any more.
func (s State) Expired(now time.Time) bool {
	age := now.Sub(s.At)
	return !s.Open && age >= Repeat && (len(s.Sent) == 0 && !s.Settled || age >= longestSuspension)
}

// quiet are the kinds whose end is no news: they are open until the app is gone, so that each is said once.
var quiet = map[string]bool{Ceded: true, Addition: true}

// HasEnd reports whether a matter is known to be open whose end will be said.
func (s State) HasEnd() bool { return s.Open && !s.Stale && endIsSaid(s.Opened.Matter) }

func endIsSaid(m notify.Matter) bool { return m.Kind != "" && m.Kind != Progress && !quiet[m.Kind] }

// OpensLasting reports whether a message opens a matter whose end will be said.
func OpensLasting(m notify.Message) bool {
	return m.Matter.Phase == notify.Opens && endIsSaid(m.Matter)
}

// EndMessage returns the message of the end of an open matter, and true, where it is not among those that hold now; the message is of the time and the
// app of another.
func EndMessage(s State, of notify.Message, holds []notify.Matter) (notify.Message, bool) {
	was := s.Opened.Matter
	if !s.Open || quiet[was.Kind] || was.Kind == Failure {
		return notify.Message{}, false
	}
	for _, h := range holds {
		if h.Kind == was.Kind && h.Object == was.Object && h.Field == was.Field {
			return notify.Message{}, false
		}
	}
	out := of
	out.Evidence, out.Severity = maps.Clone(s.Opened.Evidence), notify.Info
	for _, past := range []string{notify.FactLive, notify.FactVerdict, notify.FactBecause, notify.FactNext} {
		delete(out.Evidence, past)
	}
	out.Reason, out.Text = endingOf(s.Opened)
	out.Matter = was
	out.Matter.Phase, out.Matter.Form, out.Matter.Detail = notify.Ends, "", ""
	return out, true
}

func endingOf(m notify.Message) (reason, text string) {
	what := strings.TrimSpace(m.Matter.Object + " " + m.Matter.Field)
	switch m.Matter.Kind {
	case Unhealthy:
		return "HealthRecovered", "healthy again; it was: " + m.Text
	case HeldPrune:
		return "PruneReleased", "no prune waits for a person any more"
	case Contested:
		return "FieldSettled", what + ": no longer contested, the field holds what Git wants or is no longer Git's"
	}
	return "DriftEnded", what + ": no longer differs from Git"
}
