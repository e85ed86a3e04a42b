// Package pairing answers: which item of a live list is the one that Git's item describes, where the list gives its items no keys?
//
// In: Git's object and the live one, and the fields that others write: a difference in them says nothing about which item it is.
// Out: for a path of Git's, the path of the same field in the live object, and the other way round; for two lists, the pairs.
// Promise: pure; two equal lists pair by position; items with names of their own pair by them, in any order; no live item has two partners;
// an item whose partner is not known has none, so that nothing of live is taken for it. A path without a position is the same in both objects.
// Not here: lists of which the API server knows the keys (ownership names their items by them), what is done with the pairs (ignore, claim, compare).
package pairing

import (
	"slices"

	"github.com/truce-gitops/truce/internal/model/field"
)

// Pairs pairs the items of Git's object with those of the live one; a nil *Pairs pairs each position with itself. It is not for concurrent use.
type Pairs struct {
	git, live map[string]any
	parts     []field.Path
	known     map[string][]int // by the path of the list
}

// NewPairs returns the pairs of two objects. The parts are the fields that are not Git's, with the positions of Git's object; a part that
// ends in the keys of an item which Git's list lacks says that this item of live is not Git's. Nothing is computed before it is asked for.
func NewPairs(git, live map[string]any, parts []field.Path) *Pairs {
	if git == nil || live == nil {
		return nil
	}
	return &Pairs{git: git, live: live, parts: parts}
}

// InLive returns the path in the live object of what Git's object has at the path. False where an item on the way has no partner.
func (p *Pairs) InLive(at field.Path) (field.Path, bool) {
	return p.translate(at, func(out field.Path) (git, live field.Path) { return at, out }, partnerOf)
}

// InGit returns the path in Git's object of what the live object has at the path. False where an item on the way has no partner. A list
// that Git's object has not keeps its positions.
func (p *Pairs) InGit(at field.Path) (field.Path, bool) {
	return p.translate(at, func(out field.Path) (git, live field.Path) { return out, at }, slices.Index[[]int])
}

func partnerOf(partners []int, i int) int {
	if i < 0 || i >= len(partners) {
		return -1
	}
	return partners[i]
}

// translate replaces each position on a path by the one that partner finds among the partners of Git's items. The sides say which of the path and
// its translation is that in Git's object, and which that in the live one.
func (p *Pairs) translate(at field.Path, sides func(out field.Path) (git, live field.Path), partner func([]int, int) int) (field.Path, bool) {
	first := slices.IndexFunc(at, isPosition)
	if p == nil || first < 0 {
		return at, true
	}
	out := at.Copy()
	git, live := sides(out)
	for i := first; i < len(at); i++ {
		if !isPosition(at[i]) {
			continue
		}
		partners, listed := p.partners(git[:i], live[:i])
		if !listed {
			return out, true
		}
		j := partner(partners, *at[i].Index)
		if j < 0 {
			return nil, false
		}
		out[i] = field.Element{Index: &j}
	}
	return out, true
}

// UniteInGit returns the paths in Git's object together with those in the live object, of which each is named as Git's object has it. Those in
// an item of live without a partner are left out.
func UniteInGit(git, live map[string]any, inGit, inLive []field.Path) []field.Path {
	var pairs *Pairs
	for _, p := range inLive {
		if pairs == nil && slices.ContainsFunc(p, isPosition) {
			pairs = NewPairs(git, live, slices.Concat(inGit, withoutEnds(inLive)))
		}
		if at, paired := pairs.InGit(p); paired {
			inGit = append(inGit, at)
		}
	}
	return inGit
}

// withoutEnds returns the paths without a position at their end: that of live says nothing of the item that Git has there.
func withoutEnds(paths []field.Path) []field.Path {
	var out []field.Path
	for _, p := range paths {
		for len(p) > 0 && isPosition(p[len(p)-1]) {
			p = p[:len(p)-1]
		}
		out = append(out, p)
	}
	return out
}

func isPosition(e field.Element) bool { return e.Index != nil }

// Partners returns for each item of Git's list at the path the position of its partner in the live list, -1 for none.
func (p *Pairs) Partners(list field.Path) []int {
	at, paired := p.InLive(list)
	if !paired {
		return nil
	}
	partners, _ := p.partners(list, at)
	return partners
}

// partners is Partners of a list of which the path in the live object is known. False where Git's object has no list there.
func (p *Pairs) partners(list, inLive field.Path) ([]int, bool) {
	if p == nil {
		return nil, false
	}
	name := list.String()
	if found, known := p.known[name]; known {
		return found, true
	}
	v, _ := field.ValueAt(p.git, list)
	git, isList := v.([]any)
	if !isList {
		return nil, false
	}
	v, _ = field.ValueAt(p.live, inLive)
	live, _ := v.([]any)
	var parts []field.Path
	for _, part := range p.parts {
		if len(part) > len(list) && field.HasPrefix(part, list) {
			parts = append(parts, part[len(list):])
		}
	}
	if p.known == nil {
		p.known = map[string][]int{}
	}
	p.known[name] = PairItems(git, live, parts)
	return p.known[name], true
}
