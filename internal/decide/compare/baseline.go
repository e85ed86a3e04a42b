package compare

import (
	"fmt"
	"unique"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// Baseline is what the server made of our last apply: the fields that we own, and eight bytes of hash for the value
// of each. Objects with the same fields share the text that names them. The zero Baseline knows nothing.
type Baseline struct {
	fields unique.Handle[string]
	values []uint64
	known  bool
	doubt  bool
	*peculiar
}

// peculiar is what most baselines have not.
type peculiar struct {
	mutated []field.Path // the fields that admission gave another value than was sent
	rests   []rest       // see WithRests
}

// mutatedPaths are the fields that admission gave another value than was sent.
func (b Baseline) mutatedPaths() []field.Path {
	if b.peculiar == nil {
		return nil
	}
	return b.mutated
}

// NewBaseline takes the baseline from the server's answer to an apply, or from a live object that is known to be right.
func NewBaseline(settled object.Object, owners []ownership.Entry, h ownership.Hasher) Baseline {
	ours := ownership.ApplyEntry(owners, ownership.Manager)
	return Baseline{fields: unique.Make(ours.JSON()), values: h.Values(ours, settled), known: true}
}

// Known reports whether there is a baseline at all.
func (b Baseline) Known() bool { return b.known }

// WithDoubt returns the baseline with the mark that the server may make something else of the same object by now: its CRD has changed.
// It holds until another one is settled.
func (b Baseline) WithDoubt() Baseline {
	b.doubt = b.known
	return b
}

// Doubted reports whether the baseline should be taken again.
func (b Baseline) Doubted() bool { return b.doubt }

// Shape returns the fields that the baseline is about.
func (b Baseline) Shape() (ownership.Shape, error) {
	if !b.known {
		return ownership.Shape{}, nil
	}
	s, err := ownership.ParseShape([]byte(b.fields.Value()))
	if err != nil {
		return ownership.Shape{}, fmt.Errorf("baseline: %w", err)
	}
	return s, nil
}

// Fields returns the fields that the baseline is about, nil for one that knows nothing. The owners are those of the live object: what
// has not changed is not read again.
func (b Baseline) Fields(owners []ownership.Entry) (*ownership.Shape, error) {
	if !b.known {
		return nil, nil
	}
	s, err := b.shape(owners)
	return &s, err
}

// shape returns the fields that the baseline is about: those of our entry among the owners, where that is the same one.
func (b Baseline) shape(owners []ownership.Entry) (ownership.Shape, error) {
	if ours := ownership.ApplyEntry(owners, ownership.Manager); b.known && ours.Is(b.fields.Value()) {
		return ours, nil
	}
	return b.Shape()
}

// MatchesDesired reports whether the live object plainly holds what Git wants, without asking the server: each field that
// we own has Git's value, and Git names no field that we do not own. False means only that a dry run must decide.
func MatchesDesired(desired, live object.Object, owners []ownership.Entry) bool {
	ours := ownership.ApplyEntry(owners, ownership.Manager)
	for _, p := range ours.Paths() {
		want, named := field.ValueAt(desired, p)
		have, there := field.ValueAt(live, p)
		if named && !there && want == "" {
			continue // the server leaves an empty text out (the value of an environment variable), and no other manager owns it
		}
		if !named || !there {
			return false
		}
		if ours.Leaf(p) && !field.EqualValues(want, have) && !matchesEmptyMap(want, have) {
			return false
		}
	}
	return ours.Covers(desired)
}
