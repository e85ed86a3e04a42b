// Package absent answers: is there nothing to be rendered where an app says?
//
// In: why a path of a source cannot be rendered.
// Out: the same error, known to errors.Is.
// Promise: the text stays as it is.
// Not here: what is there and cannot be read, which is any other error.
package absent

import "errors"

// Err is the cause of errors about a source that has no directory, or no Helm chart, where an app says.
var Err = errors.New("nothing to render")

// WithCause is an error whose cause is Err, too.
func WithCause(err error) error { return absent{err} }

type absent struct{ error }

// Unwrap gives both causes.
func (m absent) Unwrap() []error { return []error{m.error, Err} }
