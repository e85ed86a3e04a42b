package compare

import (
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// ApplyResult is the API server's answer to an apply, or to a dry run of one.
type ApplyResult struct {
	Sent   object.Object     // the body of the apply
	Result object.Object     // the object that the server returned
	Owners []ownership.Entry // of Result
	Native bool              // it is one of Kubernetes' own kinds
	// Desired is Git's object, of which the paths in Withheld are not Git's: Sent has live's values there, where they are parts of atomic fields.
	Desired  object.Object
	Withheld []field.Path
}

// Baseline returns the values that the server gave to what truce sent, and remembers the paths at which they are not the values that were
// sent: managedFields are computed before mutating admission, so that what admission changes stays ours, with another value.
func (a ApplyResult) Baseline(h ownership.Hasher) Baseline {
	b := NewBaseline(a.Result, a.Owners, h)
	if changed := a.mutated(ownership.ApplyEntry(a.Owners, ownership.Manager), b.values, h); len(changed) > 0 {
		b.peculiar = &peculiar{mutated: changed}
	}
	return b.WithRests(a, h)
}

// mutated lists the paths that were sent with another value than the result has, topmost first.
func (a ApplyResult) mutated(ours ownership.Shape, result []uint64, h ownership.Hasher) []field.Path {
	var out []field.Path
	h.Changed(ours, result, a.Sent, func(p field.Path) {
		sent, named := field.ValueAt(a.Sent, p)
		got, there := field.ValueAt(a.Result, p)
		if !named || there && isListItem(p) || len(out) > 0 && field.HasPrefix(p, out[len(out)-1]) {
			return // an item counts by presence, and what is in it by itself
		}
		if !(semantics{a.Native}).same(p, sent, got, there) {
			out = append(out, p)
		}
	})
	return out
}

// Mutated reports whether admission gave another value to a field than truce had sent.
func (b Baseline) Mutated() bool { return len(b.mutatedPaths()) > 0 }

// MutatedAt reports whether admission gave another value to this field, or to the whole that it is in.
func (b Baseline) MutatedAt(p field.Path) bool { return isWithin(b.mutatedPaths(), p) }

// mutated reports the fields that admission changed in the last apply, and that still do not hold Git's value.
func (r *Result) mutated(in Input) {
	for _, p := range in.Baseline.mutatedPaths() {
		if covered(r.Differences, p) || isWithin(in.Withheld, p) {
			continue
		}
		d, ok := difference(in, p)
		if !ok || d.Kind == Extra || holdsGit(in, d) || onlyWithheld(in, d) {
			continue
		}
		d.Kind = Mutated
		r.Differences = append(r.Differences, d)
	}
}

// mutated adds the fields that a dry run answered with another value than was sent: an apply would not bring Git's.
func (w *walker) mutated() {
	in := w.pair
	if in.Expected == nil {
		return
	}
	s := semantics{in.Native}
	for _, p := range ownership.FieldsOf(map[string]any(in.Desired), nil, in.Schema) {
		sent, _ := field.ValueAt(in.Desired, p)
		expected, there := field.ValueAt(in.Expected, p)
		if identifies(p) || isListItem(p) && there || covered(w.found, p) || s.same(p, sent, expected, there) {
			continue
		}
		live, there := field.ValueAt(in.Live, p)
		if !s.same(p, sent, live, there) {
			w.found = append(w.found, Difference{Path: p, Kind: Mutated, Desired: redact.HideValue(sent), Live: redact.HideValue(live), Writer: writerElsewhere(in.Owners, p)})
		}
	}
}

// identifies reports whether the field is a part of what makes two objects a pair.
func identifies(p field.Path) bool {
	return len(p) == 1 && identity[nameFromEnd(p, 1)] || len(p) == 2 && nameFromEnd(p, 2) == "metadata" && (nameFromEnd(p, 1) == "name" || nameFromEnd(p, 1) == "namespace")
}

// holdsGit reports whether live has Git's value under the API's semantics, whatever the last apply left.
func holdsGit(in Input, d Difference) bool {
	return d.Kind != Extra && semantics{in.Native}.same(d.Path, d.Desired.Reveal(), d.Live.Reveal(), d.Kind != Missing)
}
