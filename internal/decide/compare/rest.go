package compare

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/pairing"
)

// rest is what an answer of the server has in an atomic field of Git's apart from the parts that are not Git's. Git's own values do not show it: maps of
// the answer may hold the server's defaults besides.
type rest struct {
	whole field.Path
	parts []field.Path // with the positions of Git's object
	hash  uint64
}

// WithRests returns the baseline with what the answer has in the atomic fields of which parts are withheld, so that a change beside these is seen.
func (b Baseline) WithRests(a ApplyResult, h ownership.Hasher) Baseline {
	var rests []rest
	for _, p := range a.Withheld {
		whole, part := ownership.AtomicAncestor(a.Owners, p)
		if _, named := field.ValueAt(a.Desired, whole); !part || !named || slices.ContainsFunc(rests, func(r rest) bool { return r.whole.Equals(whole) }) {
			continue
		}
		r := rest{whole: whole, parts: pathsBelow(a.Withheld, whole)}
		r.hash = r.of(a.Desired, a.Result, h)
		rests = append(rests, r)
	}
	if len(rests) > 0 {
		b.peculiar = &peculiar{mutated: b.mutatedPaths(), rests: rests}
	}
	return b
}

// of returns the hash of what an object has in the field beside the parts.
func (r rest) of(git, o object.Object, h ownership.Hasher) uint64 {
	pairs := pairing.NewPairs(git, o, r.parts)
	var parts, items []field.Path
	for _, p := range r.parts {
		at, paired := pairs.InLive(p)
		switch {
		case !paired:
		case isListItem(at):
			items = append(items, at)
		default:
			parts = append(parts, at)
		}
	}
	slices.SortFunc(parts, func(a, b field.Path) int { return b.Compare(a) }) // the last item of a list first: those before it keep their positions
	body := o.Clone()
	for _, p := range append(parts, items...) {
		if !field.RemoveValue(body, p) {
			removeEmptyMap(body, p[:len(p)-1])
		}
	}
	v, _ := field.ValueAt(body, r.whole)
	return h.Value(v)
}

// removeEmptyMap removes a map without content, as the removal of the last value in it does.
func removeEmptyMap(o object.Object, p field.Path) {
	v, _ := field.ValueAt(o, p)
	if m, isMap := v.(map[string]any); isMap && len(m) == 0 {
		field.RemoveValue(o, p)
	}
}

// holdsRest reports whether live has beside the parts of an atomic field what the answer had there. It does not say no where the answer is not known
// without one of the parts, which is another's only since.
func (in Input) holdsRest(whole field.Path, parts []field.Path) bool {
	if in.Baseline.peculiar == nil {
		return true
	}
	i := slices.IndexFunc(in.Baseline.rests, func(r rest) bool { return r.whole.Equals(whole) })
	if i < 0 {
		return true
	}
	r := in.Baseline.rests[i]
	known, r := r.hash, rest{whole: r.whole, parts: slices.Clone(r.parts)}
	for _, p := range parts {
		if contains(r.parts, p) {
			continue
		}
		if _, named := field.ValueAt(in.Desired, p); named || !isListItem(p) {
			return true
		}
		r.parts = append(r.parts, p) // an item that the answer had not
	}
	return r.of(in.Desired, in.Live, in.Hasher) == known
}
