package render

import (
	"errors"
	"strconv"
)

// ErrLimit is the cause of errors about time, memory, size, depth or number. Those about time have the method Timeout, as those of net have.
var ErrLimit = errors.New("limit exceeded")

// Error is a problem at a place in the tree. It prints as "file:line: cause".
type Error struct {
	// File is relative to the top of the tree.
	File string
	// Line is 1-based; 0 is unknown.
	Line int
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	place := e.File
	if e.Line > 0 {
		place += ":" + strconv.Itoa(e.Line)
	}
	return place + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
