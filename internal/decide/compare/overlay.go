package compare

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/pairing"
)

// Overlay returns a copy of desired that holds live's values at the paths: what may be sent where a withheld
// field is part of an atomic one. A path that live lacks is left out. In an atomic list the values are those of the same item, wherever it stands
// in live; an item that live has not keeps all that Git names. So does one that is withheld as a whole, while live has an item that may be it. A path
// that ends in the keys of an item which only live has puts that item in.
func Overlay(desired, live object.Object, paths []field.Path) object.Object {
	o := overlay{live: live, body: desired.Clone(), pairs: pairing.NewPairs(desired, live, paths)}
	for _, p := range paths {
		o.field(p)
	}
	o.absent = slices.DeleteFunc(o.absent, o.mayBeThere)
	slices.SortFunc(o.absent, func(a, b field.Path) int { return b.Compare(a) }) // the last item of a list first: those before it keep their positions
	for _, p := range o.absent {
		field.RemoveValue(o.body, p)
	}
	for len(o.items) > 0 {
		list := o.items[0][:len(o.items[0])-1]
		o.insert(list)
		o.items = slices.DeleteFunc(o.items, func(p field.Path) bool { return p[:len(p)-1].Equals(list) })
	}
	return o.body
}

// overlay is one run of Overlay.
type overlay struct {
	live, body object.Object
	pairs      *pairing.Pairs
	absent     []field.Path // in the live object
	items      []field.Path // of lists that Git names without them
}

func (o *overlay) field(p field.Path) {
	if len(p) == 0 {
		return
	}
	if _, paired := o.pairs.InLive(p[:len(p)-1]); !paired {
		return
	}
	at, paired := o.pairs.InLive(p)
	v, there := field.ValueAt(o.live, at)
	switch {
	case !paired || !there:
		o.absent = append(o.absent, p)
	case o.isAnothers(p):
		o.items = append(o.items, p)
	default:
		field.SetValue(o.body, p, object.CloneValue(v))
	}
}

// mayBeThere reports whether the path is an item without a partner of a list in which live has an item that is neither the partner of another one
// nor another's: then it is not known that live has not the item, and without it Git's would be lost.
func (o *overlay) mayBeThere(p field.Path) bool {
	if p[len(p)-1].Index == nil {
		return false
	}
	list := p[:len(p)-1]
	partners := o.pairs.Partners(list)
	for j, item := range o.liveItems(list) {
		if !slices.Contains(partners, j) && !o.isItem(list, item) {
			return true
		}
	}
	return false
}

// liveItems returns what live has in the list of Git's at the path.
func (o *overlay) liveItems(list field.Path) []any {
	at, _ := o.pairs.InLive(list)
	v, _ := field.ValueAt(o.live, at)
	items, _ := v.([]any)
	return items
}

// isAnothers reports whether the path is an item that a list of Git's has not.
func (o *overlay) isAnothers(p field.Path) bool {
	list, _ := field.ValueAt(o.body, p[:len(p)-1])
	_, isList := list.([]any)
	_, named := field.ValueAt(o.body, p)
	return isList && p[len(p)-1].Key != nil && !named
}

// insert puts the items of live that a list of Git's has not before those of Git's that they stand before in live.
func (o *overlay) insert(list field.Path) {
	v, _ := field.ValueAt(o.body, list)
	git, _ := v.([]any)
	partners := o.pairs.Partners(list)
	before := make([][]any, len(git)+1)
	for j, item := range o.liveItems(list) {
		if o.isItem(list, item) {
			i := min(nextOfGit(partners, j), len(git))
			before[i] = append(before[i], object.CloneValue(item))
		}
	}
	var out []any
	for i, items := range before {
		out = append(out, items...)
		if i < len(git) {
			out = append(out, git[i])
		}
	}
	field.SetValue(o.body, list, out)
}

func (o *overlay) isItem(list field.Path, item any) bool {
	return slices.ContainsFunc(o.items, func(p field.Path) bool {
		return len(p) == len(list)+1 && field.HasPrefix(p, list) && field.Matches(item, p[len(list)])
	})
}

// nextOfGit returns the position of Git's item that stands behind a position of live; that behind the last one, if there is none.
func nextOfGit(partners []int, position int) int {
	next, found := len(partners), -1
	for i, j := range partners {
		if j > position && (found < 0 || j < found) {
			next, found = i, j
		}
	}
	return next
}
