// Package unmerged answers: is it a chart's values that keep it from being rendered?
//
// In: why a chart cannot be rendered.
// Out: the same error, known to errors.Is.
// Promise: the text stays as it is.
// Not here: reading values (values), and what templates make of them, which is any other error.
package unmerged

import "errors"

// Err is the cause of errors about values that are no map, or cannot be set where they are to be.
var Err = errors.New("values that cannot be merged")

// WithCause is an error whose cause is Err, too.
func WithCause(err error) error { return unmerged{err} }

type unmerged struct{ error }

// Unwrap gives both causes.
func (u unmerged) Unwrap() []error { return []error{u.error, Err} }
