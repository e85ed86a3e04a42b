// Package compare answers: which fields differ from what Git wants, from what to what, and who wrote them?
//
// In: the desired and the live object, the baseline (what the server made of our last apply), and the withheld paths.
// Out: a Result: one Difference a field, in the order of the fields, and the paths whose ownership was lost.
// Promise: pure; no field appears twice; an object equal to its baseline gives nothing; needs no schema.
// Not here: reading the cluster (live), what to do about a difference (decide).
package compare

import (
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
)

// Kind says how a field differs.
type Kind string

// The kinds of difference.
const (
	Changed Kind = "changed" // live has another value
	Missing Kind = "missing" // live has none; with an empty path, the object itself is not there
	Extra   Kind = "extra"   // Git dropped the field, and it is still there
)

// Difference is one field where live is not as desired.
type Difference struct {
	Path          field.Path // empty: the object as a whole
	Kind          Kind
	Desired, Live any // nil where absent
	Writer        field.Writer
}

// Input is what one comparison needs. Nothing in it is changed.
type Input struct {
	Desired  object.Object // what Git wants, withheld paths included
	Live     object.Object // nil: not in the cluster
	Owners   []field.Owner // of Live
	Baseline Baseline
	Withheld []field.Path // compared by value, since no baseline can hold them
	Released []field.Path // withheld at the last apply, and no longer: by value too, and then to be owned again
	Hasher   field.Hasher
}

// Result is everything that is not as it should be.
type Result struct {
	Differences []Difference
	// Lost are paths that hold the right value but are no longer ours: the next change in Git would not remove them.
	Lost []field.Path
}

// Object compares one object with its baseline.
func Object(in Input) (Result, error) {
	if in.Live == nil {
		return Result{Differences: []Difference{{Kind: Missing, Writer: field.Writer{Evidence: field.Unknown}}}}, nil
	}
	shape, err := in.Baseline.Shape()
	if err != nil {
		return Result{}, err
	}
	var r Result
	changed := changedPaths(in, shape)
	for _, p := range changed {
		if d, ok := difference(in, p); ok {
			r.Differences = append(r.Differences, d)
		}
	}
	for _, p := range append(append([]field.Path(nil), in.Withheld...), in.Released...) {
		if d, ok := byValue(in, p); ok && !covered(changed, p) {
			r.Differences = append(r.Differences, d)
			changed = append(changed, p)
		}
	}
	r.Lost = append(lost(in, shape.Paths(), changed), lost(in, named(in.Desired, in.Released), changed)...)
	return r, nil
}

func named(desired object.Object, paths []field.Path) []field.Path {
	var out []field.Path
	for _, p := range paths {
		if _, ok := field.Get(desired, p); ok {
			out = append(out, p)
		}
	}
	return out
}

// changedPaths lists the baseline's fields that live does not hold, topmost first: a missing list item stands for all in it.
func changedPaths(in Input, shape field.Shape) []field.Path {
	var out []field.Path
	in.Hasher.Changed(shape, in.Baseline.values, in.Live, func(p field.Path) {
		if len(out) == 0 || !field.HasPrefix(p, out[len(out)-1]) {
			out = append(out, p)
		}
	})
	return out
}

func covered(paths []field.Path, p field.Path) bool {
	for _, q := range paths {
		if field.HasPrefix(p, q) || field.HasPrefix(q, p) {
			return true
		}
	}
	return false
}

// difference describes a field whose hash is not the settled one. Where the only change lies in withheld parts of an
// atomic field, there is none.
func difference(in Input, p field.Path) (Difference, bool) {
	desired, _ := field.Get(in.Desired, p)
	live, there := field.Get(in.Live, p)
	d := Difference{Path: p, Kind: Changed, Desired: desired, Live: live, Writer: field.WriterOf(in.Owners, p)}
	if !there {
		d.Kind = Missing
	}
	return d, !onlyWithheld(in, p, live)
}

func onlyWithheld(in Input, p field.Path, live any) bool {
	parts := below(in.Withheld, p)
	if len(parts) == 0 {
		return false
	}
	sent, _ := field.Get(Overlay(in.Desired, in.Live, parts), p)
	return field.Equal(sent, live)
}

func byValue(in Input, p field.Path) (Difference, bool) {
	desired, named := field.Get(in.Desired, p)
	live, there := field.Get(in.Live, p)
	if !named || field.Equal(desired, live) && there {
		return Difference{}, false
	}
	d := Difference{Path: p, Kind: Changed, Desired: desired, Live: live, Writer: field.WriterOf(in.Owners, p)}
	if !there {
		d.Kind = Missing
	}
	return d, true
}

func below(paths []field.Path, p field.Path) []field.Path {
	var out []field.Path
	for _, q := range paths {
		if len(q) > len(p) && field.HasPrefix(q, p) {
			out = append(out, q)
		}
	}
	return out
}

// lost lists those of the paths that our entry no longer has although their value is right.
func lost(in Input, paths, changed []field.Path) []field.Path {
	ours := field.ApplyEntry(in.Owners, field.Manager)
	var out []field.Path
	for _, p := range paths {
		if !ours.Has(p) && !ours.Under(p) && !covered(changed, p) && !covered(in.Withheld, p) {
			out = append(out, p)
		}
	}
	return out
}

// Overlay returns a copy of desired that holds live's values at the paths: what may be sent where a withheld
// field is part of an atomic one. A path that live lacks is left out.
func Overlay(desired, live object.Object, paths []field.Path) object.Object {
	c := desired.Clone()
	for _, p := range paths {
		if v, there := field.Get(live, p); there {
			field.Put(c, p, object.CloneValue(v))
		} else {
			field.Drop(c, p)
		}
	}
	return c
}
