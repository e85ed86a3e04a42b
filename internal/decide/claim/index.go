package claim

import (
	"cmp"
	"slices"

	"github.com/truce-gitops/truce/internal/model/object"
)

// Index answers which claimants target an object, in constant time, and keeps up with each claimant by itself in constant time.
// The zero Index is empty. It is not for concurrent use.
type Index struct {
	byTarget map[object.ID][]Claimant
	byID     map[object.ID][]Claimant
}

// Put notes all that one claimant claims now; nothing, if it is gone. It returns the targets whose claims have changed by that.
func (ix *Index) Put(id object.ID, now []Claimant) (changed []object.ID) {
	before := ix.byID[id]
	if slices.Equal(before, now) {
		return nil
	}
	if ix.byID == nil {
		ix.byTarget, ix.byID = map[object.ID][]Claimant{}, map[object.ID][]Claimant{}
	}
	for _, c := range before {
		ix.remove(c)
		if !slices.Contains(now, c) {
			changed = appendNew(changed, c.Target)
		}
	}
	for _, c := range now {
		key := withoutGroup(c.Target)
		ix.byTarget[key] = append(ix.byTarget[key], c)
		if !slices.Contains(before, c) {
			changed = appendNew(changed, c.Target)
		}
	}
	ix.byID[id] = slices.Clone(now)
	if len(now) == 0 {
		delete(ix.byID, id)
	}
	return changed
}

func (ix *Index) remove(c Claimant) {
	key := withoutGroup(c.Target)
	list := ix.byTarget[key]
	i := slices.Index(list, c)
	if i < 0 {
		return
	}
	if list = slices.Delete(list, i, i+1); len(list) == 0 {
		delete(ix.byTarget, key)
		return
	}
	ix.byTarget[key] = list
}

func appendNew(list []object.ID, id object.ID) []object.ID {
	if slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}

// withoutGroup leaves the group out, since a claimant may name none.
func withoutGroup(id object.ID) object.ID {
	id.Group = ""
	return id
}

// For returns the claimants that target the object, by ID. What they claim of it is for Catalogue.On to say.
func (ix *Index) For(id object.ID) []Claimant {
	direct := ix.byTarget[withoutGroup(id)]
	wide := ix.byTarget[object.ID{Kind: id.Kind, Namespace: id.Namespace}]
	if len(direct)+len(wide) == 0 {
		return nil
	}
	out := make([]Claimant, 0, len(direct)+len(wide))
	for _, list := range [][]Claimant{direct, wide} {
		for _, c := range list {
			if c.targets(id) {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, compareClaimants)
	return out
}

// targets reports whether the claimant means the object.
func (c Claimant) targets(id object.ID) bool {
	return c.Target.Kind == id.Kind && c.Target.Namespace == id.Namespace && (c.anyGroup || c.Target.Group == id.Group) &&
		(c.Target.Name == id.Name || c.Target.Name == "" && !c.spares(id))
}

// Claimants returns every claimant, by ID.
func (ix *Index) Claimants() []Claimant {
	var out []Claimant
	for _, list := range ix.byID {
		out = append(out, list...)
	}
	slices.SortFunc(out, compareClaimants)
	return out
}

// Targets reports whether any claimant means the object, without making anything.
func (ix *Index) Targets(id object.ID) bool {
	for _, key := range []object.ID{withoutGroup(id), {Kind: id.Kind, Namespace: id.Namespace}} {
		if slices.ContainsFunc(ix.byTarget[key], func(c Claimant) bool { return c.targets(id) }) {
			return true
		}
	}
	return false
}

func compareClaimants(a, b Claimant) int {
	return cmp.Or(a.ID.Compare(b.ID), cmp.Compare(a.Entry, b.Entry), a.Target.Compare(b.Target))
}
