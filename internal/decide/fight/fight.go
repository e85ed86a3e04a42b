// Package fight answers: is this field going back and forth?
//
// In: what truce remembers of an object's fields, and what happened now.
// Out: the same memory, one step on; and whether the next correction may be made, or from when on.
// Promise: pure; state in, state out; the time is a value; against controllers at most MaxCorrections corrections are made in any Window, unless a
// person asks for more; the edit of a person is never left for longer than MinSpacing.
// Not here: what to do about it (decide), keeping it across restarts (journal).
package fight

import (
	"maps"
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// The breaker's measures. They count reversals of values, not writes: a field that was put back twice and differs once
// more has gone A → B → A → B → A → B, three reversals by each side that saw one.
const (
	// Window is the time in which reversals belong to one fight. What stays put back for longer has ended.
	Window = time.Hour
	// MaxCorrections is how many corrections of one field are made against controllers within a Window, trials included.
	MaxCorrections = 3
	// MinSpacing is the least time between two corrections of one field against people.
	MinSpacing = time.Second

	before   = 2 // corrections until a fight is one
	pause    = 10 * time.Minute
	mostWait = 6 * time.Hour

	remake     = 10 * time.Second // before an object that is deleted again and again is created again
	mostRemake = 10 * time.Minute
)

// Memory is what truce remembers of the fields of one object, by the field's printed path. The zero Memory remembers nothing.
type Memory struct {
	fields map[string]state
}

// state is what is remembered of one field.
type state struct {
	Corrections []correction `json:"corrections,omitempty"` // the newest last
	Back        time.Time    `json:"back,omitzero"`         // when it was first seen to differ again after the newest
	Trials      int          `json:"trials,omitempty"`      // corrections since the fight was one
	Value       any          `json:"value,omitempty"`       // the last live value of a ceded field
	Before      any          `json:"before,omitempty"`      // the one before that
	Values      []time.Time  `json:"values,omitempty"`      // when other values of a ceded field were seen, the newest last
	Given       bool         `json:"given,omitempty"`       // it was there before truce adopted the object
	stuck       uint64       // hash of the live value that an apply did not change; of this process
}

type correction struct {
	At      time.Time `json:"at"`
	Against string    `json:"against,omitempty"`
	Kind    Kind      `json:"kind,omitempty"`
	Request bool      `json:"request,omitempty"` // a person asked for it although the breaker was open
}

// counts reports whether the correction counts for the breaker.
func (c correction) counts() bool { return c.Kind != Person && !c.Request }

// Opponent is who changed a field that truce had put back.
type Opponent struct {
	Name string // empty for unknown writers: they count as one
	Kind Kind
}

// OpponentOf returns who changed the field at a path, or for an empty one the object, as memories count them.
func OpponentOf(w ownership.Writer, p field.Path) Opponent {
	o := Opponent{Name: w.Name}
	switch {
	case w.Person:
		o.Kind = Person
	case len(p) == 0:
		o.Kind = Deleter
	}
	return o
}

// Kind says which pauses hold for an opponent.
type Kind string

// The kinds of opponents.
const (
	Controller Kind = ""        // a controller, or an unknown writer: the breaker holds
	Person     Kind = "person"  // a tool that people type into: only MinSpacing holds
	Deleter    Kind = "deleter" // a controller or an unknown writer that deletes the object: the pauses are short, since the app lacks the object meanwhile
)

// Bout is how it stands with a field that differs now.
type Bout struct {
	Corrections int       // against controllers within the Window
	Since       time.Time // the first of them
	Requested   time.Time // of the newest correction, where a person asked for it while the breaker was open; else zero
	Next        time.Time // when the next may be made; zero for now
}

// Open reports whether corrections have to wait.
func (b Bout) Open() bool { return !b.Next.IsZero() }

// Bout says how it stands with a field that the opponent has changed. A controller that rewrites the field is left alone for 10 minutes,
// then for twice as long after each trial, up to 6 hours. The edit of a person is always corrected, at most once per MinSpacing.
func (m Memory) Bout(path string, o Opponent, now time.Time) Bout {
	s := m.fields[path]
	b, fought := s.bout(o, now)
	if !fought && o.Kind != Person {
		return b
	}
	if next := s.next(o); next.After(now) {
		b.Next = next
	}
	return b
}

// bout counts, and reports whether it is a fight: by what this opponent alone has undone, or all of them together, or since it was one.
func (s state) bout(o Opponent, now time.Time) (b Bout, fought bool) {
	if s.over(now) {
		return Bout{}, false
	}
	against := 0
	for _, c := range s.Corrections {
		if s.seen(now).Sub(c.At) > Window || !c.counts() {
			continue
		}
		if b.Corrections++; b.Corrections == 1 {
			b.Since = c.At
		}
		if c.Against == o.Name {
			against++
		}
	}
	if last := s.Corrections[len(s.Corrections)-1]; last.Request {
		b.Requested = last.At
	}
	switch o.Kind {
	case Person:
		return b, false
	case Deleter:
		return b, s.Trials > 0 || b.Corrections >= before
	default:
		return b, s.Trials > 0 || against >= before || b.Corrections >= MaxCorrections
	}
}

// next says when a field may be corrected again: after MinSpacing for a person, else when the fight about it pauses no longer.
func (s state) next(o Opponent) time.Time {
	if o.Kind == Person {
		if n := len(s.Corrections); n > 0 {
			return s.Corrections[n-1].At.Add(MinSpacing)
		}
		return time.Time{}
	}
	counted := slices.DeleteFunc(slices.Clone(s.Corrections), func(c correction) bool { return !c.counts() })
	n := len(counted)
	if n == 0 {
		return time.Time{}
	}
	last := counted[n-1].At
	if o.Kind == Deleter {
		return last.Add(doubled(remake, s.Trials, mostRemake))
	}
	next := last.Add(doubled(pause, s.Trials, mostWait))
	if n >= MaxCorrections {
		if free := counted[n-MaxCorrections].At.Add(Window); free.After(next) {
			return free
		}
	}
	return next
}

// doubled returns d doubled n times, and no more than the most.
func doubled(d time.Duration, n int, most time.Duration) time.Duration {
	const enough = 10 // doublings reach any most, and do not overflow
	return min(d<<min(max(n, 0), enough), most)
}

// over reports whether what was put back has stayed so for longer than a fight takes.
func (s state) over(now time.Time) bool {
	n := len(s.Corrections)
	return n == 0 || s.seen(now).Sub(s.Corrections[n-1].At) > Window
}

// seen is when the field was first seen to differ again.
func (s state) seen(now time.Time) time.Time {
	if s.Back.IsZero() {
		return now
	}
	return s.Back
}

// WasUndone reports whether a field that differs now was put back within the Window, and was not yet seen to differ again.
func (m Memory) WasUndone(path string, now time.Time) bool {
	s := m.fields[path]
	return s.Back.IsZero() && !s.over(now)
}

// WithReversal returns the memory after a field that truce had put back was seen to differ again.
func (m Memory) WithReversal(path string, at time.Time) Memory {
	s, ok := m.fields[path]
	if !ok || len(s.Corrections) == 0 || !s.Back.IsZero() {
		return m
	}
	return m.with(path, func(s *state) { s.Back = at })
}

// WithCorrection returns the memory after truce put Git's value back at the given time, against the one who had changed it.
func (m Memory) WithCorrection(path string, against Opponent, at time.Time) Memory {
	return m.corrected(path, correction{At: at, Against: against.Name, Kind: against.Kind})
}

// WithRequest is Corrected where the breaker was open, and a person asked for the correction: it does not make the pause longer.
func (m Memory) WithRequest(path string, against Opponent, at time.Time) Memory {
	return m.corrected(path, correction{At: at, Against: against.Name, Kind: against.Kind, Request: true})
}

func (m Memory) corrected(path string, c correction) Memory {
	return m.with(path, func(s *state) {
		switch _, fought := s.bout(Opponent{Name: c.Against, Kind: c.Kind}, c.At); {
		case s.over(c.At):
			s.Corrections, s.Trials = nil, 0
		case fought && c.counts():
			s.Trials++
		}
		s.Corrections = newestCorrections(append(slices.Clone(s.Corrections), c))
		s.Back = time.Time{}
	})
}

// keptCorrections is how many corrections of a field are remembered that count for the breaker, and how many others: enough to count
// several opponents apart.
const keptCorrections = 8

// newestCorrections drops the oldest corrections.
func newestCorrections(all []correction) []correction {
	left := map[bool]int{true: keptCorrections, false: keptCorrections}
	from := len(all)
	var out []correction
	for from > 0 {
		from--
		c := all[from]
		if left[c.counts()]--; left[c.counts()] >= 0 {
			out = append(out, c)
		}
	}
	slices.Reverse(out)
	return out
}

// WithStuck returns the memory after an apply of Git's value left another one in place: an admission webhook, most likely.
func (m Memory) WithStuck(path string, live uint64) Memory {
	return m.with(path, func(s *state) { s.stuck = live })
}

// WithObserved returns the memory after a ceded field was seen to hold the value: a new object would start with it.
func (m Memory) WithObserved(path string, value any, at time.Time) Memory {
	last := m.fields[path].Value
	if last != nil && field.EqualValues(last, value) {
		return m
	}
	return m.with(path, func(s *state) {
		if last != nil {
			s.Before = last
			s.Values = append(slices.Clone(s.Values[max(0, len(s.Values)-keptValues+1):]), at)
		}
		s.Value = value
	})
}

// keptValues is how many changes of a ceded field are remembered.
const keptValues = 16

// LastValue returns the last value that a ceded field was seen to hold, nil for none.
func (m Memory) LastValue(path string) any { return m.fields[path].Value }

// PreviousValue returns the value that a ceded field was seen to hold before the last one, nil for none.
func (m Memory) PreviousValue(path string) any { return m.fields[path].Before }

// Changes is how often a field was changed within the Window.
type Changes struct {
	Corrections int // it was put back so often
	Values      int // other values of a ceded field were seen, at most 16
}

// RecentChanges counts the changes of a field.
func (m Memory) RecentChanges(path string, now time.Time) Changes {
	var out Changes
	s := m.fields[path]
	for _, c := range s.Corrections {
		if now.Sub(c.At) <= Window {
			out.Corrections++
		}
	}
	for _, at := range s.Values {
		if now.Sub(at) <= Window {
			out.Values++
		}
	}
	return out
}

// WithPreexisting returns the memory after truce adopted an object that had exactly these added fields before.
func (m Memory) WithPreexisting(paths []string) Memory {
	for path, s := range m.fields {
		if s.Given && !slices.Contains(paths, path) {
			m = m.with(path, func(s *state) { s.Given = false })
		}
	}
	for _, path := range paths {
		m = m.with(path, func(s *state) { s.Given = true })
	}
	return m
}

// PreexistingPaths lists what was found so.
func (m Memory) PreexistingPaths() []string {
	var out []string
	for path, s := range m.fields {
		if s.Given {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Fought reports whether any field was put back.
func (m Memory) Fought() bool {
	for _, s := range m.fields {
		if len(s.Corrections) > 0 {
			return true
		}
	}
	return false
}

// LastCorrection returns when truce last put the field back; the zero time for never.
func (m Memory) LastCorrection(path string) time.Time {
	if c := m.fields[path].Corrections; len(c) > 0 {
		return c[len(c)-1].At
	}
	return time.Time{}
}

// IsStuck reports whether an apply is known not to change this live value.
func (m Memory) IsStuck(path string, live uint64) bool {
	s, ok := m.fields[path]
	return ok && s.stuck != 0 && s.stuck == live
}

// WithoutStuck returns the memory after Git changed the object: what applies could not restore before is open again.
func (m Memory) WithoutStuck() Memory {
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
