package journal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/object"
)

// Flap is one field that went back and forth, or that was put back.
type Flap struct {
	App         app.Key   `json:"app"`
	Object      object.ID `json:"object"`
	Path        string    `json:"path"`
	Git         any       `json:"git"` // as of the newest entry
	First       time.Time `json:"first"`
	Last        time.Time `json:"last"`
	Corrections int       `json:"corrections"`
	Reversals   int       `json:"reversals"` // corrections that were undone again
	Contested   bool      `json:"contested"` // as of the newest entry about it
	Ceded       bool      `json:"ceded"`     // the same
	Writers     []string  `json:"writers"`   // who set other values, by name
	Values      []Value   `json:"values"`    // over time, for a chart
}

// Value is what a field held from a time on.
type Value struct {
	At    time.Time `json:"at"`
	Value any       `json:"value"`
	By    string    `json:"by"`
}

// Flaps gathers the entries, which come in the order of time, by field: what was corrected, contested or ceded, the field with most
// reversals first.
func Flaps(entries []Entry) []Flap {
	byField := map[string]*Flap{}
	var order []*Flap
	for _, e := range entries {
		if e.Object == (object.ID{}) {
			continue
		}
		key := fmt.Sprint(e.App, e.Object, e.Path)
		f := byField[key]
		if f == nil {
			f = &Flap{App: e.App, Object: e.Object, Path: e.Path, First: e.At}
			byField[key] = f
			order = append(order, f)
		}
		f.add(e)
	}
	slices.SortStableFunc(order, func(a, b *Flap) int {
		if n := b.Reversals - a.Reversals; n != 0 {
			return n
		}
		return strings.Compare(a.Object.String()+a.Path, b.Object.String()+b.Path)
	})
	out := make([]Flap, 0, len(order))
	for _, f := range order {
		out = append(out, *f)
	}
	return out
}

func (f *Flap) add(e Entry) {
	f.Git, f.Last = e.Git, e.At
	f.Contested, f.Ceded = e.What == Contested, e.What == Ceded
	if e.Writer != "" && !slices.Contains(f.Writers, e.Writer) {
		f.Writers = append(f.Writers, e.Writer)
	}
	if e.What == Corrected || e.What == Contested {
		f.Reversals = f.Corrections // each sight of another value undoes the correction before
	}
	f.Values = append(f.Values, Value{At: e.At, Value: e.Live, By: e.Writer})
	if e.What == Corrected {
		f.Corrections++
		f.Values = append(f.Values, Value{At: e.At, Value: e.Git, By: "truce"})
	}
}
