package source

import (
	"errors"
	"strings"
)

// ErrNotLocal says that a URL cannot be watched, only polled.
var ErrNotLocal = errors.New("not a local repository")

// Reason classes what went wrong, so that a dialect can name its own condition reason.
type Reason string

// The reasons; the first three are Flux's names.
const (
	URLInvalid           Reason = "URLInvalid"           // malformed, or of a form that is not allowed
	AuthenticationFailed Reason = "AuthenticationFailed" // credentials or host key missing or wrong
	GitOperationFailed   Reason = "GitOperationFailed"   // unreachable, vanished, corrupt
	RefInvalid           Reason = "RefInvalid"           // not a legal reference
	RefNotFound          Reason = "RefNotFound"          // legal, but not there
	HostNotAllowed       Reason = "HostNotAllowed"       // at an address that sources must not have
	LimitExceeded        Reason = "LimitExceeded"
	Timeout              Reason = "Timeout"
	PathEscape           Reason = "PathEscape"   // a link leads out of the tree
	NotSupported         Reason = "NotSupported" // a submodule was opened
)

// Error is what a Fetcher and a Tree return.
type Error struct {
	Op      string // fetch, open
	Subject string // the URL without credentials, or the path
	Reason  Reason // empty when the caller's own context ended
	Err     error
}

// Error is the operation, the subject and the cause.
func (e *Error) Error() string {
	return strings.Join([]string{e.Op + " " + e.Subject, e.Err.Error()}, ": ")
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
