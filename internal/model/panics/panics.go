// Package panics answers: what did a piece of work panic with?
//
// In: what recover returned.
// Out: an Error that names the value, with the stack of the goroutine.
// Promise: the message is short and redacted; the stack holds no values but addresses and numbers.
// Not here: logging and counting it, and when the work is tried again (controller).
package panics

import (
	"fmt"
	"runtime/debug"

	"github.com/truce-gitops/truce/internal/model/redact"
)

// Error is a panic that was recovered.
type Error struct {
	Value string // what it said; redacted, and cut
	Stack string
}

// longest is how much of a panic's value is kept, in bytes.
const longest = 300

// Error says what the panic said.
func (e *Error) Error() string {
	return "panic: " + e.Value + " (a fault of truce: the controller's log has the stack)"
}

// CaughtError makes an error of what recover has returned; nil of nil.
func CaughtError(recovered any) *Error {
	if recovered == nil {
		return nil
	}
	text := redact.MaskText(fmt.Sprint(recovered))
	if len(text) > longest {
		text = text[:longest] + "..."
	}
	return &Error{Value: text, Stack: string(debug.Stack())}
}

// Counter counts the panics that were recovered, by the kind of work.
type Counter interface {
	CountPanic(work string)
}

// Recover is deferred by a function with a named error: a panic of the function becomes its error.
func Recover(err *error) {
	if p := CaughtError(recover()); p != nil {
		*err = p
	}
}
