// Package compare answers: which fields differ from what Git wants, from what to what, and who wrote them?
//
// In: the desired and the live object, the baseline (what the server made of our last apply), the withheld paths, and additions.
// Out: a Result: one Difference a field, in the order of the fields, and the paths whose ownership was lost.
// Promise: pure; no field appears twice; an object equal to its baseline gives nothing; needs no schema.
// Not here: reading the cluster (live), what to do about a difference (decide).
package compare

import (
	"slices"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/pairing"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// Kind says how a field differs.
type Kind string

// The kinds of difference.
const (
	Changed Kind = "changed" // live has another value
	Missing Kind = "missing" // live has none; with an empty path, the object itself is not there
	Extra   Kind = "extra"   // Git dropped the field, and it is still there, with another value than we gave it
	Added   Kind = "added"   // Git names none, and live has one
	// Unmanaged is the object as a whole: it is there, and is not compared since Git asks not to apply it.
	Unmanaged Kind = "unmanaged"
	Mutated   Kind = "mutated"  // admission gave the field another value than truce sent
	Disowned  Kind = "disowned" // the value is right, but it is no longer ours: a change in Git would not remove it
)

// Difference is one field where live is not as desired.
type Difference struct {
	Path          field.Path // empty: the object as a whole
	Kind          Kind
	Desired, Live redact.Raw // nil where absent
	Writer        ownership.Writer
}

// LiveHash returns the hash of the live value.
func (d Difference) LiveHash(h ownership.Hasher) uint64 { return h.Value(d.Live.Reveal()) }

// Input is what one comparison needs. Nothing in it is changed.
type Input struct {
	Desired  object.Object     // what Git wants, withheld paths included
	Live     object.Object     // nil: not in the cluster
	Owners   []ownership.Entry // of Live
	Baseline Baseline
	Withheld []field.Path // compared by value, since no baseline can hold them
	Released []field.Path // withheld at the last apply, and no longer: by value too, and then to be owned again
	Added    []Addition   // what live has that Git does not name
	Hasher   ownership.Hasher
	// WithoutBaseline says that no dry run gave a baseline: what Git names is compared by itself. Native is as in Pair.
	WithoutBaseline, Native bool
	Past                    Past

	pairs *pairing.Pairs
}

// Past is what was seen of a live object when it was compared with the same object of Git's before. The zero Past is nothing.
type Past struct {
	At     time.Time         // when that was; zero for never
	Seen   ownership.History // of the live object then
	Single time.Time         // when the one write since arrived; zero where there may have been several
	// Known are the differences that there were then, by printed path.
	Known map[string]Known
}

// Known is a difference as it was seen before.
type Known struct {
	Live   uint64    // the hash of the live value
	Before time.Time // when the field was last seen to hold another value; zero where it was not
	// CededTo is the claimant that the field was left to, then or before; empty for none.
	CededTo string
}

// Before is when the field was last seen to hold another value than the one with the hash; zero where it was not.
func (past Past) Before(path string, live uint64) time.Time {
	if k, known := past.Known[path]; known && k.Live == live {
		return k.Before
	}
	return past.At
}

// History is what managedFields say of the field at p, where live holds the value now. Where it was seen to hold that value before, what was
// seen then does not show who set it.
func (past Past) History(owners []ownership.Entry, h ownership.Hasher, p field.Path, live redact.Raw) ownership.History {
	if k, known := past.Known[field.PathString(p)]; known && k.Live == h.Value(live.Reveal()) {
		return ownership.History{}.With(owners, time.Time{})
	}
	return past.Seen.With(owners, past.Single)
}

// Result is everything that is not as it should be.
type Result struct {
	Differences []Difference
	// Lost are paths that hold the right value but are no longer ours: the next change in Git would not remove them.
	LostOwnership []field.Path
	// Freed are released paths that hold Git's value, and that only an apply makes ours again.
	Released []field.Path
	// Added are the additions among the differences, in their order.
	Added []Addition
}

// CompareObject compares one object with its baseline.
func CompareObject(in Input) (Result, error) {
	if in.Live == nil {
		return Result{Differences: []Difference{{Kind: Missing, Writer: ownership.Writer{Evidence: ownership.Unknown}}}}, nil
	}
	if len(in.Withheld)+len(in.Released) > 0 {
		in.pairs = pairing.NewPairs(in.Desired, in.Live, slices.Concat(in.Withheld, in.Released)) // what was others' at the last apply names no item either
	}
	if in.WithoutBaseline {
		return withoutBaseline(in), nil
	}
	shape, err := in.Baseline.shape(in.Owners)
	if err != nil {
		return Result{}, err
	}
	ours := ownership.ApplyEntry(in.Owners, ownership.Manager)
	r := Result{Differences: fromBaseline(in, shape, ours)}
	r.mutated(in)
	for _, p := range in.Withheld {
		r.byValue(in, p)
	}
	r.releaseAll(in, ours)
	r.LostOwnership = lostOwnership(in, shape, ours, r.Differences)
	r.add(in.Live, in.Added)
	return r, nil
}

// withoutBaseline compares what Git names by itself. Of an atomic field of which only withheld parts differ, these are reported.
func withoutBaseline(in Input) Result {
	r := CompareWithoutBaseline(Pair{Desired: in.Desired, Live: in.Live, Owners: in.Owners, Native: in.Native})
	r.divide(in, nil)
	return r
}

// add reports additions, but for those in a field that is reported already.
func (r *Result) add(live object.Object, all []Addition) {
	for _, a := range all {
		if covered(r.Differences, a.Path) {
			continue
		}
		v, _ := field.ValueAt(live, a.Path)
		r.Added = append(r.Added, a)
		r.Differences = append(r.Differences, Difference{Path: a.Path, Kind: Added, Live: redact.HideValue(v), Writer: a.Writer})
	}
}

// fromBaseline lists the baseline's fields that live does not hold, topmost first: a missing list item stands for all in it.
func fromBaseline(in Input, shape, ours ownership.Shape) []Difference {
	var out []Difference
	var gone field.Path
	in.Hasher.Changed(shape, in.Baseline.values, in.Live, func(p field.Path) {
		if len(gone) > 0 && field.HasPrefix(p, gone) {
			return
		}
		d, ok := difference(in, p)
		if d.Kind == Missing || len(p) > 0 && p[len(p)-1].Key != nil { // reported as a whole
			gone = p
		}
		if ok && !onlyWithheld(in, d) && !additive(d, ours) && !isOwnedElsewhere(in, d) && !restored(in, d) {
			out = append(out, d)
		}
	})
	return out
}

// difference describes a field. There is none where Git names no value and live has none.
func difference(in Input, p field.Path) (Difference, bool) {
	git, named := field.ValueAt(in.Desired, p)
	now, there := liveValue(in, p)
	desired, live := redact.HideValue(git), redact.HideValue(now)
	d := Difference{Path: p, Kind: Changed, Desired: desired, Live: live, Writer: in.Past.History(in.Owners, in.Hasher, p, live).WriterOf(p)}
	if w := d.Writer; !in.Past.Seen.Known() && w.AppliesGit() && ownership.ApplyEntry(in.Owners, ownership.Manager).Empty() {
		d.Writer = appliedOnce(w)
	}
	if all, ok := field.DuplicatesOf(in.Live, p); ok {
		d.Live = redact.HideValue(all)
	}
	switch {
	case !there:
		d.Kind = Missing
	case !named:
		d.Kind = Extra
	}
	return d, there || named
}

// liveValue returns the live value of a field of Git's: in an atomic list that of the same item, wherever it stands.
func liveValue(in Input, p field.Path) (any, bool) {
	at, paired := in.pairs.InLive(p)
	if !paired {
		return nil, false
	}
	return field.ValueAt(in.Live, at)
}

// onlyWithheld reports whether the only change lies in withheld parts of an atomic field.
func onlyWithheld(in Input, d Difference) bool {
	parts := pathsBelow(in.Withheld, d.Path)
	if len(parts) == 0 {
		return false
	}
	sent, _ := field.ValueAt(Overlay(in.Desired, in.Live, parts), d.Path)
	return semantics{in.Native}.same(d.Path, sent, d.Live.Reveal(), d.Kind != Missing) && in.holdsRest(d.Path, parts)
}

// restored reports whether a field that admission had changed holds Git's value now.
func restored(in Input, d Difference) bool {
	return contains(in.Baseline.mutatedPaths(), d.Path) && holdsGit(in, d)
}

func contains(paths []field.Path, p field.Path) bool {
	return slices.ContainsFunc(paths, p.Equals)
}

// isOwnedElsewhere reports whether Git has dropped a field that has another owner anyway.
func isOwnedElsewhere(in Input, d Difference) bool {
	return d.Kind == Extra && isWithin(in.Withheld, d.Path)
}

// additive reports whether others have filled a map that Git names without content (emptyDir: {}): an entry of ours that
// names the map alone does not distinguish that from an atomic field, but a change of an atomic one would have taken it from us.
func additive(d Difference, ours ownership.Shape) bool {
	return ours.Leaf(d.Path) && matchesEmptyMap(d.Desired.Reveal(), d.Live.Reveal())
}

// matchesEmptyMap reports whether Git names an empty map, and live has one with or without content.
func matchesEmptyMap(desired, live any) bool {
	want, ok := desired.(map[string]any)
	_, isMap := live.(map[string]any)
	return ok && len(want) == 0 && isMap
}

// byValue compares what Git names at p with live, unless that is reported already. Of an atomic list in which live has not the item, the list as
// a whole differs.
func (r *Result) byValue(in Input, p field.Path) {
	_, paired := in.pairs.InLive(p[:max(len(p)-1, 0)])
	if !paired || covered(r.Differences, p) {
		return
	}
	d, ok := difference(in, p)
	if !ok || d.Kind == Extra || d.Kind == Changed && (isListItem(p) || field.ContainsValues(d.Live.Reveal(), d.Desired.Reveal())) || onlyWithheld(in, d) {
		return
	}
	r.Differences = append(r.Differences, d)
}

// isListItem reports whether p is a list item that its keys name: it counts by presence, and what is in it by itself.
func isListItem(p field.Path) bool { return len(p) > 0 && p[len(p)-1].Key != nil }

// releaseAll compares the released paths. What our entry still owns as the last apply has left it was another's then, and truce has applied its value: who
// wrote that is not recorded.
func (r *Result) releaseAll(in Input, ours ownership.Shape) {
	known := slices.Clone(r.Differences)
	for _, p := range in.Released {
		if r.release(in, p, ours) {
			r.Released = append(r.Released, p)
		}
	}
	for i, d := range r.Differences {
		if ours.Under(d.Path) && !slices.ContainsFunc(known, func(k Difference) bool { return k.Path.Equals(d.Path) }) {
			r.Differences[i].Writer = ownership.Writer{
				Manager: ownership.Manager, Evidence: ownership.Unknown,
				Because: []string{"managedFields: " + ownership.Manager + " holds the value that was live when the field was another's"},
			}
		}
	}
}

// release compares each field that Git names at p, and reports whether there is one that holds Git's value and is not ours. Parts of it may
// be withheld still: a rule may have become narrower.
func (r *Result) release(in Input, p field.Path, ours ownership.Shape) (freed bool) {
	if d, found := leftBehind(in, p, ours); found {
		r.widen(in, d)
		return false
	}
	want, named := field.ValueAt(in.Desired, p)
	if !named {
		return false
	}
	for _, q := range ownership.FieldsOf(want, p, in.Owners) {
		if isWithin(in.Withheld, q) {
			continue
		}
		r.byValue(in, q)
		freed = freed || !covered(r.Differences, q) && !ours.Under(q)
	}
	return freed
}

// widen reports an atomic field, in place of its parts that are another's: they say nothing of the rest. Where the field is reported, what it is in, or a part
// of Git's, that corrects it as a whole.
func (r *Result) widen(in Input, d Difference) {
	isAnothers := func(o Difference) bool {
		return field.HasPrefix(o.Path, d.Path) && !o.Path.Equals(d.Path) && isWithin(in.Withheld, o.Path)
	}
	rest := slices.DeleteFunc(slices.Clone(r.Differences), isAnothers)
	if !covered(rest, d.Path) {
		r.Differences = append(rest, d)
	}
}

// leftBehind returns the difference of the atomic field around a released path where live has at the path what Git does not name, or lacks the item of
// Git's that the path is in: the baseline may hold the same, so that nothing else shows it, and no part of the field can be put right alone.
func leftBehind(in Input, p field.Path, ours ownership.Shape) (Difference, bool) {
	whole, part := ownership.AtomicAncestor(in.Owners, p)
	if !part || isWithin(in.Withheld, p) {
		return Difference{}, false
	}
	_, named := field.ValueAt(in.Desired, p)
	at, paired := in.pairs.InLive(p)
	if paired {
		_, there := field.ValueAt(in.Live, at)
		_, around := field.ValueAt(in.Desired, whole)
		if named || !there || !around {
			return Difference{}, false
		}
	} else if _, item := field.ValueAt(in.Desired, itemAround(p)); !item {
		return Difference{}, false
	}
	d, ok := difference(in, whole)
	return d, ok && !additive(d, ours)
}

// itemAround returns the path of the innermost item that a position on the path names.
func itemAround(p field.Path) field.Path {
	for len(p) > 0 && p[len(p)-1].Index == nil {
		p = p[:len(p)-1]
	}
	return p
}

func pathsBelow(paths []field.Path, p field.Path) []field.Path {
	var out []field.Path
	for _, q := range paths {
		if len(q) > len(p) && field.HasPrefix(q, p) {
			out = append(out, q)
		}
	}
	return out
}

// lostOwnership lists the baseline's fields that our entry no longer has although their value is right.
func lostOwnership(in Input, shape, ours ownership.Shape, found []Difference) []field.Path {
	var out []field.Path
	for _, p := range shape.Without(ours) {
		if covered(found, p) || isWithin(in.Withheld, p) || isWithin(in.Released, p) {
			continue
		}
		if _, there := field.ValueAt(in.Live, p); there {
			out = append(out, p)
		}
	}
	return out
}

func covered(found []Difference, p field.Path) bool {
	return slices.ContainsFunc(found, func(d Difference) bool { return field.HasPrefix(p, d.Path) || field.HasPrefix(d.Path, p) })
}

func isWithin(paths []field.Path, p field.Path) bool {
	return slices.ContainsFunc(paths, func(q field.Path) bool { return field.HasPrefix(p, q) })
}
