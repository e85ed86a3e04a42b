package optout

import (
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Moment is an annotation by which an object says that it is made at some moment, and not kept in sync.
type Moment struct {
	Annotation string
	// Names are what the moments are called that the annotation's value lists with commas; one without a name never comes, and is not expected
	// to. One that is missing is called as it is written, unless Names is Closed: then it never comes.
	Names  map[string]string
	Closed bool
	// Except is the value with which an object is kept in sync all the same.
	Except string
	// Weights are annotations with the object's place among those of its moment, of which the first one counts. Deleted is one with a list of when
	// the object is deleted, by the names of Deletions.
	Weights   []string
	Deleted   string
	Deletions map[string]string
}

// Timing is when an object is made and deleted.
type Timing struct {
	Moments []string // none for an object that is never made
	// Skipped says that the object itself asks never to be made.
	Skipped bool
	Weight  int
	Deleted []string
}

// Moments are the annotations of a dialect. Of several on an object the first one counts.
type Moments []Moment

// Of reports whether an object is made at some moment, and when.
func (all Moments) Of(o object.Object) (at Timing, bears bool) {
	for _, m := range all {
		value, there := o.Annotation(m.Annotation)
		if !there || m.Except != "" && value == m.Except {
			continue
		}
		called, known := m.Names[strings.TrimSpace(value)]
		return Timing{Moments: m.named(value), Skipped: known && called == "", Weight: PlaceOf(o, m.Weights), Deleted: m.deleted(o)}, true
	}
	return Timing{}, false
}

func (m Moment) named(value string) []string {
	var out []string
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		called, known := m.Names[name]
		if !known && !m.Closed {
			called = name
		}
		if called != "" && !slices.Contains(out, called) {
			out = append(out, called)
		}
	}
	return out
}

// PlaceOf returns the number of the first of some annotations that is one; 0 for none.
func PlaceOf(o object.Object, annotations []string) int {
	for _, key := range annotations {
		text, _ := o.Annotation(key)
		if n, err := strconv.Atoi(strings.TrimSpace(text)); err == nil {
			return n
		}
	}
	return 0
}

func (m Moment) deleted(o object.Object) []string {
	text, _ := o.Annotation(m.Deleted)
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if when := m.Deletions[strings.TrimSpace(name)]; when != "" && !slices.Contains(out, when) {
			out = append(out, when)
		}
	}
	return out
}
