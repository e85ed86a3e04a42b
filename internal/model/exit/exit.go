// Package exit answers: with which code does a command end?
//
// In: an error, and what it means for a script that runs the command.
// Out: an error that carries its exit code.
// Promise: the codes are those that `truce --help` lists, and do not change.
// Not here: printing errors (cli).
package exit

// Code is an exit code.
type Code int

// The exit codes, as `truce --help` lists them.
const (
	Same    Code = 0 // done; nothing differs
	Differs Code = 1 // something is not as Git wants it, or did not become so in time
	Usage   Code = 2 // the command line or the configuration makes no sense
	Cluster Code = 3 // the API server cannot be reached, refuses, or does not know the app
	Render  Code = 4 // the source cannot be fetched, or does not render

	Interrupted Code = 130 // a signal has ended the command, as shells say of SIGINT
)

// Error is an error with its exit code. An error without one counts as Cluster.
type Error struct {
	Code Code
	Err  error // nil prints nothing: the output has said it
}

// Error returns the text of Err.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// WithCode gives an error its exit code. It returns nil for no error.
func WithCode(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}
