package ignore

import (
	"slices"
	"strconv"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/pairing"
)

// part is one of the things by which a rule names fields. One of the three is set.
type part struct {
	pointer field.Pointer
	query   string
	manager string
}

// parts yields what the rule is made of.
func (r *Rule) parts(yield func(part) bool) {
	for _, p := range r.Pointers {
		if !yield(part{pointer: p}) {
			return
		}
	}
	for _, q := range r.Queries {
		if !yield(part{query: q}) {
			return
		}
	}
	for _, m := range r.Managers {
		if !yield(part{manager: m}) {
			return
		}
	}
}

// paths returns the fields that the part covers.
func (p part) paths(s Observed) []field.Path {
	switch {
	case p.pointer != nil:
		return pointed(s, p.pointer)
	case p.query != "":
		return s.Answers[p.query].paths(s)
	}
	return ownedBy(s, p.manager)
}

// pointed resolves a pointer in Git's object: a list item that is put before another in the cluster must not shift what a
// position means. In the cluster a pointer without positions is looked for, and what only the cluster has in an item that Git's position names.
func pointed(s Observed, p field.Pointer) []field.Path {
	path, ok := ownership.Resolve(p, s.Desired, s.Owners)
	switch {
	case ok || s.Live == nil:
	case !hasPosition(p):
		path, ok = ownership.Resolve(p, s.Live, s.Owners)
	case len(path) > 0 && !slices.ContainsFunc(path, func(e field.Element) bool { return e.Index != nil }):
		_, ok = field.ValueAt(s.Live, path)
	}
	if !ok {
		return nil
	}
	return pathsBeside(s, path)
}

// hasPosition reports whether a part of the pointer could be a position.
func hasPosition(p field.Pointer) bool {
	return slices.ContainsFunc(p, func(token string) bool {
		n, err := strconv.Atoi(token)
		return err == nil && n >= 0
	})
}

// paths returns what the expression selects. What it selects in live is named as Git's object has it; in an item of live of which Git has
// none, there is nothing to cover.
func (a Answer) paths(s Observed) []field.Path {
	named := resolveAll(a.Git, s.Desired, s.Owners)
	if !a.Positional && s.Live != nil {
		named = pairing.UniteInGit(s.Desired, s.Live, named, resolveAll(a.Live, s.Live, s.Owners))
	}
	var out []field.Path
	seen := map[string]bool{}
	for _, path := range named {
		if !seen[path.String()] {
			seen[path.String()] = true
			out = append(out, pathsBeside(s, path)...)
		}
	}
	return out
}

// resolveAll returns the fields that the pointers name in the object.
func resolveAll(list []field.Pointer, in object.Object, owners []ownership.Entry) []field.Path {
	var out []field.Path
	for _, p := range list {
		if path, ok := ownership.Resolve(p, in, owners); ok && len(path) > 0 {
			out = append(out, path)
		}
	}
	return out
}

// ownedBy lists the fields of the manager's entries that Git names, or has dropped while they are still ours. That a list item or
// a map is there is not meant: it would cover what others own in it.
func ownedBy(s Observed, manager string) []field.Path {
	ours := ownership.ApplyEntry(s.Owners, ownership.Manager)
	var out []field.Path
	for _, o := range s.Owners {
		if o.Manager != manager {
			continue
		}
		for _, p := range o.Fields.Paths() {
			if !ownsContent(s.Owners, o.Fields, p) || slices.ContainsFunc(out, p.Equals) {
				continue
			}
			if _, named := field.ValueAt(s.Desired, p); named || ours.Under(p) {
				out = append(out, pathsBeside(s, p)...)
			}
		}
	}
	return out
}

// ownsContent reports whether the shape owns the content of p: all of it, or that a set has the value. Of a map that another entry names
// something in, only the presence is owned: fieldsV1 writes that as it writes an atomic field.
func ownsContent(owners []ownership.Entry, shape ownership.Shape, p field.Path) bool {
	if p[len(p)-1].Value != nil {
		return true
	}
	return shape.Leaf(p) && !slices.ContainsFunc(owners, func(o ownership.Entry) bool {
		return slices.ContainsFunc(o.Fields.Below(p), func(q field.Path) bool { return len(q) > len(p) })
	})
}
