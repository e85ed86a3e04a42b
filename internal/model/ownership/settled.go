package ownership

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Hasher turns values into 8-byte hashes under a key of its own, so that a hash kept in memory does not
// reveal a Secret's value, and two processes never agree on one. The zero Hasher does not work; see NewHasher.
type Hasher struct {
	seed maphash.Seed
}

// NewHasher returns a Hasher with a fresh random key.
func NewHasher() Hasher { return Hasher{seed: maphash.MakeSeed()} }

// absent is the hash of a value that is not there; present that of a field whose presence alone counts; twice that of a
// list item which stands there more than once: a plain update may write that, and the last one counts.
const (
	absent  uint64 = 0
	present uint64 = 1
	twice   uint64 = 2
)

// Value returns the hash of decoded JSON; equal values (see Equal) have equal hashes.
func (h Hasher) Value(v any) uint64 {
	var mh maphash.Hash
	mh.SetSeed(h.seed)
	hashValue(&mh, v)
	return max(mh.Sum64(), twice+1)
}

// Values returns one hash for each field that the shape owns, in the shape's order, as obj holds them.
// Owned list items and maps count by presence, leaves by their whole content.
func (h Hasher) Values(s Shape, obj object.Object) []uint64 {
	out := make([]uint64, 0, 16)
	h.visit(s.root, map[string]any(obj), func(n *node, in, v any, there bool) {
		out = append(out, h.of(n, in, v, there))
	})
	return out
}

// Changed calls report for each owned field whose hash in obj is not the one in settled, in the shape's order.
// settled comes from Values over the same shape.
func (h Hasher) Changed(s Shape, settled []uint64, obj object.Object, report func(field.Path)) {
	i := 0
	var trail field.Path
	h.trace(s.root, map[string]any(obj), &trail, func(n *node, in, v any, there bool) {
		if i < len(settled) && settled[i] != h.of(n, in, v, there) {
			report(trail.Copy())
		}
		i++
	})
}

func (h Hasher) of(n *node, in, v any, there bool) uint64 {
	switch {
	case !there:
		return absent
	case n.other != nil && n.other.Key != nil && field.CountMatching(in, *n.other) > 1:
		return twice
	case !n.leaf():
		return present
	}
	return h.Value(v)
}

func (h Hasher) visit(list []node, v any, f func(n *node, in, v any, there bool)) {
	for i := range list {
		n := &list[i]
		c, there := field.ChildValue(v, n.element())
		if n.owned() {
			f(n, v, c, there)
		}
		h.visit(n.children, c, f)
	}
}

func (h Hasher) trace(list []node, v any, trail *field.Path, f func(n *node, in, v any, there bool)) {
	for i := range list {
		n := &list[i]
		*trail = append(*trail, n.element())
		c, there := field.ChildValue(v, n.element())
		if n.owned() {
			f(n, v, c, there)
		}
		h.trace(n.children, c, trail, f)
		*trail = (*trail)[:len(*trail)-1]
	}
}

// Fingerprint returns a hash of the shape itself: two shapes that own the same fields have the same.
func (h Hasher) Fingerprint(s Shape) uint64 {
	var mh maphash.Hash
	mh.SetSeed(h.seed)
	fingerprint(&mh, s.root)
	return mh.Sum64()
}

func fingerprint(mh *maphash.Hash, list []node) {
	for _, n := range list {
		mh.WriteString(n.text)
		if n.self {
			mh.WriteByte('.')
		}
		mh.WriteByte('{')
		fingerprint(mh, n.children)
		mh.WriteByte('}')
	}
}

func hashValue(mh *maphash.Hash, v any) {
	switch v := v.(type) {
	case nil:
		mh.WriteByte('n')
	case string:
		mh.WriteByte('s')
		maphash.WriteComparable(mh, len(v))
		mh.WriteString(v)
	case bool:
		mh.WriteByte('b')
		maphash.WriteComparable(mh, v)
	case int64, float64, int:
		writeNumber(mh, v)
	case []any:
		mh.WriteByte('[')
		maphash.WriteComparable(mh, len(v))
		for _, e := range v {
			hashValue(mh, e)
		}
	case map[string]any:
		writeMap(mh, v)
	case object.Object:
		writeMap(mh, v)
	}
}

func writeNumber(mh *maphash.Hash, v any) {
	mh.WriteByte('d')
	if n, ok := field.WholeNumber(v); ok {
		maphash.WriteComparable(mh, n)
		return
	}
	f, _ := v.(float64) // what is not whole is a float
	maphash.WriteComparable(mh, math.Float64bits(f))
}

func writeMap(mh *maphash.Hash, m map[string]any) {
	mh.WriteByte('{')
	maphash.WriteComparable(mh, len(m))
	var few [16]string
	keys := few[:0]
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		mh.WriteString(k)
		mh.WriteByte(0)
		hashValue(mh, m[k])
	}
}
