// Package fight answers: is this field going back and forth?
//
// In: what truce remembers of an object's fields, and what happened now.
// Out: the same memory, one step on.
// Promise: pure; state in, state out; the time is a value.
// Not here: what to do about it (decide), keeping it across restarts (journal).
package fight

import (
	"maps"
	"time"
)

// Memory is what truce remembers of the fields of one object, by the field's printed path. The zero Memory remembers nothing.
type Memory struct {
	fields map[string]state
}

type state struct {
	corrected time.Time // when truce last put Git's value back
	stuck     uint64    // hash of the live value that an apply did not change
	value     any       // the last live value of a ceded field
}

// Corrected returns the memory after truce put the field back at the given time.
func (m Memory) Corrected(path string, at time.Time) Memory {
	return m.with(path, func(s *state) { s.corrected = at })
}

// Stuck returns the memory after an apply of Git's value left another one in place: an admission webhook, most likely.
func (m Memory) Stuck(path string, live uint64) Memory {
	return m.with(path, func(s *state) { s.stuck = live })
}

// Seen returns the memory after a ceded field was seen to hold the value: a new object would start with it.
func (m Memory) Seen(path string, value any) Memory {
	return m.with(path, func(s *state) { s.value = value })
}

// Value returns the last value that a ceded field was seen to hold, nil for none.
func (m Memory) Value(path string) any { return m.fields[path].value }

// LastCorrection returns when truce last put the field back; the zero time for never.
func (m Memory) LastCorrection(path string) time.Time { return m.fields[path].corrected }

// IsStuck reports whether an apply is known not to change this live value.
func (m Memory) IsStuck(path string, live uint64) bool {
	s, ok := m.fields[path]
	return ok && s.stuck != 0 && s.stuck == live
}

// Settled returns the memory after Git changed the object: what applies could not restore before is open again.
func (m Memory) Settled() Memory {
	out := Memory{fields: maps.Clone(m.fields)}
	for k, s := range out.fields {
		s.stuck = 0
		out.fields[k] = s
	}
	return out
}

func (m Memory) with(path string, change func(*state)) Memory {
	out := Memory{fields: maps.Clone(m.fields)}
	if out.fields == nil {
		out.fields = map[string]state{}
	}
	s := out.fields[path]
	change(&s)
	out.fields[path] = s
	return out
}
