package journal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Oscillation is one field that went back and forth, or that was put back.
type Oscillation struct {
	App         app.Key   `json:"app"`
	Object      object.ID `json:"object"`
	Path        string    `json:"path"`
	Git         any       `json:"git"` // as of the newest entry
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Corrections int       `json:"corrections"`         // by truce, or by those in Restorers
	Reversals   int       `json:"reversals"`           // corrections that were undone again
	Contested   bool      `json:"contested"`           // as of the newest entry about it
	Ceded       bool      `json:"ceded"`               // the same
	Held        bool      `json:"held,omitempty"`      // the same: it differs, and is left so for now
	Writers     []string  `json:"writers"`             // who set other values, by name
	Restorers   []string  `json:"restorers,omitempty"` // who put it back while truce only observed, by name
	Values      []Value   `json:"values"`              // over time, for a chart
	Place       string    `json:"place,omitempty"`     // where Git writes the field, as of Revision; empty where no entry knows
	Begins      string    `json:"begins,omitempty"`    // where Git's object begins, the same
	Revision    string    `json:"revision,omitempty"`  // the newest of which an entry says where
}

// Ongoing reports whether something is left to do about the field: it differs, or goes back and forth.
func (f Oscillation) Ongoing() bool { return f.Held || f.Ceded || f.Contested || f.Reversals > 0 }

// Value is what a field held from a time on.
type Value struct {
	At    time.Time `json:"at"`
	Value any       `json:"value"`
	By    string    `json:"by"`
}

// Oscillations gathers the entries, which come in the order of time, by field: what was corrected, contested or ceded, the field with most
// reversals first.
func Oscillations(entries []Entry) []Oscillation {
	byField := map[string]*Oscillation{}
	var order []*Oscillation
	for _, e := range entries {
		if !e.What.IsOfField() {
			continue
		}
		key := fmt.Sprint(e.App, e.Object, e.Path)
		f := byField[key]
		if f == nil {
			f = &Oscillation{App: e.App, Object: e.Object, Path: e.Path, First: e.At}
			byField[key] = f
			order = append(order, f)
		}
		f.add(e)
	}
	slices.SortStableFunc(order, func(a, b *Oscillation) int {
		if n := b.Reversals - a.Reversals; n != 0 {
			return n
		}
		return strings.Compare(a.Object.String()+a.Path, b.Object.String()+b.Path)
	})
	out := make([]Oscillation, 0, len(order))
	for _, f := range order {
		out = append(out, *f)
	}
	return out
}

func (f *Oscillation) add(e Entry) {
	f.Git, f.Last = e.Git, e.At
	f.Contested, f.Ceded, f.Held = e.What == Contested, e.What == Ceded, e.What == Held
	if e.Place != "" || e.Begins != "" {
		f.Place, f.Begins, f.Revision = e.Place, e.Begins, e.Revision
	}
	if e.What == Ended { // no other value was set
		return
	}
	names := &f.Writers
	if e.What == Returned {
		names = &f.Restorers
		f.Corrections++
	}
	if by := e.By(); by != "" && !slices.Contains(*names, by) {
		*names = append(*names, by)
	}
	if e.What == Corrected || e.What == Contested || len(f.Restorers) > 0 && e.What != Returned {
		f.Reversals = f.Corrections // each sight of another value undoes the correction before
	}
	f.Values = append(f.Values, Value{At: e.At, Value: e.Live, By: e.By()})
	if e.What == Corrected {
		f.Corrections++
		f.Values = append(f.Values, Value{At: e.At, Value: e.Git, By: "truce"})
	}
}

// Change says how often one field was set to another value.
type Change struct {
	Object object.ID
	Path   string
	Times  int
	Live   any // what it holds after the last entry
}

// Changes counts, by field, how often another value was set since a time, by the entries, which come in the order of time. What is noted again
// of the same value is no change, and neither is truce's own correction, nor that a field is as Git wants again.
func Changes(entries []Entry, since time.Time) []Change {
	type key struct {
		object object.ID
		path   string
	}
	var out []Change
	at := map[key]int{}
	for _, e := range entries {
		if e.Path == "" || e.Object == (object.ID{}) {
			continue
		}
		i, known := at[key{e.Object, e.Path}]
		if !known {
			i = len(out)
			at[key{e.Object, e.Path}] = i
			out = append(out, Change{Object: e.Object, Path: e.Path})
		}
		c := &out[i]
		if e.What != Returned && e.What != Ended && !e.At.Before(since) && (!known || !field.EqualValues(c.Live, e.Live)) {
			c.Times++
		}
		if c.Live = e.Live; e.What == Corrected {
			c.Live = e.Git
		}
	}
	return out
}
