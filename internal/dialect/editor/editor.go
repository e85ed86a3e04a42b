// Package editor answers: how is a custom resource changed as a command asks, and what of that cannot be?
//
// In: a custom resource, and fields to set or to take away.
// Out: the changed custom resource, or the first thing that cannot be done.
// Promise: what is not named stays as it is; a value of another form is never written over.
// Not here: which fields a change is about (the dialects), writing custom resources (view).
package editor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Editor is one change of one custom resource. The first thing that cannot be done is its Err.
type Editor struct {
	CR  object.Object
	Err error
}

// Refuse ends the change, unless something else has.
func (e *Editor) Refuse(format string, args ...any) {
	if e.Err == nil {
		e.Err = fmt.Errorf(format, args...)
	}
}

// Put sets the field at a path.
func (e *Editor) Put(value any, keys ...string) {
	if !field.SetValue(e.CR, field.NewPath(keys...), value) {
		e.Refuse("%s holds a value of another form", strings.Join(keys, "."))
	}
}

// Drop takes the field at a path away.
func (e *Editor) Drop(keys ...string) { field.RemoveValue(e.CR, field.NewPath(keys...)) }

// SetText sets a text; nil leaves it, and an empty one takes the field away.
func (e *Editor) SetText(value *string, keys ...string) {
	switch {
	case value == nil:
	case *value == "":
		e.Drop(keys...)
	default:
		e.Put(*value, keys...)
	}
}

// CompactJSON prints a value in one line, with sorted keys.
func CompactJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// FormatEntries prints the entries of a list with their places, for one who named another.
func FormatEntries(list []any) string {
	if len(list) == 0 {
		return "there are none"
	}
	var all []string
	for i, v := range list {
		all = append(all, fmt.Sprintf("%d: %s", i, CompactJSON(v)))
	}
	return "there are " + strings.Join(all, ", ")
}
