package redact

import (
	"fmt"
	"io"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// hidden is what a Raw is printed and encoded as.
const hidden = "[redacted]"

// Raw is a value of an object before it is masked. fmt, slog, encoding/json and text/template show "[redacted]" in its place. Mask.Show
// returns what a person may see of it. The zero Raw is the value of a field that is not there.
type Raw struct {
	value *any // a pointer: fmt prints unexported fields of other structs without asking their methods
}

// HideValue returns a value of an object as it is judged; nil is a field that is not there.
func HideValue(v any) Raw {
	if v == nil {
		return Raw{}
	}
	return Raw{&v}
}

// Reveal returns the value for a judgement. The architecture test lists the packages that may call it: none of them prints or stores it.
func (r Raw) Reveal() any {
	if r.value == nil {
		return nil
	}
	return *r.value
}

// IsNil reports whether there is no value.
func (r Raw) IsNil() bool { return r.value == nil }

// Equal reports whether two values are the same decoded JSON.
func (r Raw) Equal(other Raw) bool { return field.EqualValues(r.Reveal(), other.Reveal()) }

// Format implements fmt.Formatter for every verb.
func (Raw) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// MarshalText implements encoding.TextMarshaler, which encoding/json and log/slog ask too.
func (Raw) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Show returns the value of one field as a person may see it; see Value.
func (m Mask) Show(id object.ID, p field.Path, r Raw) any { return m.Value(id, p, r.Reveal()) }
