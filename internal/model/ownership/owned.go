package ownership

import "github.com/truce-gitops/truce/internal/model/field"

// findNode returns the node of an element, nil if there is none.
func findNode(list []node, e field.Element) *node {
	for i := range list {
		if n := &list[i]; n.is(e) {
			return n
		}
	}
	return nil
}

// is reports whether the node is the element's; for names, which nearly all are, without the library.
func (n *node) is(e field.Element) bool {
	if n.other == nil {
		return e.FieldName != nil && n.name == *e.FieldName
	}
	return e.FieldName == nil && n.other.Equals(e)
}

// at walks down to p. It returns the node of p itself, or (with above) that of an ancestor whose whole content is owned.
func (s Shape) at(p field.Path) (n *node, above bool) {
	list := s.root
	for i, e := range p {
		if n = findNode(list, e); n == nil {
			return nil, false
		}
		if n.leaf() && i < len(p)-1 {
			return n, true
		}
		list = n.children
	}
	return n, false
}

// Has reports whether the shape owns p: the field itself, or all of it through an atomic ancestor.
// A field of which only parts are owned is not owned.
func (s Shape) Has(p field.Path) bool {
	n, above := s.at(p)
	return n != nil && (above || n.owned())
}

// Under reports whether the shape owns p, an ancestor of it as a whole, or anything below it.
func (s Shape) Under(p field.Path) bool {
	n, _ := s.at(p)
	return n != nil || len(p) == 0 && !s.Empty()
}

// Leaf reports whether the shape owns the whole content of p.
func (s Shape) Leaf(p field.Path) bool {
	n, _ := s.at(p)
	return n != nil && n.leaf()
}

// Paths returns every owned field: leaves, and items and maps that are owned themselves.
func (s Shape) Paths() []field.Path { return s.Below(nil) }

// Below returns the owned fields at p and below it. A part of an atomic field is not owned by itself, so it has none.
func (s Shape) Below(p field.Path) []field.Path {
	var all []field.Path
	keep := func(p field.Path) { all = append(all, p.Copy()) }
	if len(p) == 0 {
		walkPaths(s.root, nil, keep)
		return all
	}
	n, above := s.at(p)
	if n == nil || above {
		return nil
	}
	if n.owned() {
		keep(p)
	}
	walkPaths(n.children, p.Copy(), keep)
	return all
}

func walkPaths(list []node, prefix field.Path, visit func(field.Path)) {
	for i := range list {
		n := &list[i]
		p := append(prefix, n.element())
		if n.owned() {
			visit(p)
		}
		walkPaths(n.children, p, visit)
	}
}

// Without returns the owned fields of which the other shape owns nothing: not them, nothing above them as a whole, nothing below.
func (s Shape) Without(other Shape) []field.Path {
	if len(s.root) > 0 && len(s.root) == len(other.root) && &s.root[0] == &other.root[0] {
		return nil // the very same
	}
	var out []field.Path
	without(s.root, other.root, nil, func(p field.Path) { out = append(out, p.Copy()) })
	return out
}

func without(list, other []node, prefix field.Path, visit func(field.Path)) {
	for i := range list {
		n := &list[i]
		p := append(prefix, n.element())
		switch o := findNode(other, n.element()); {
		case o == nil:
			if n.owned() {
				visit(p)
			}
			walkPaths(n.children, p, visit)
		case !o.leaf():
			without(n.children, o.children, p, visit)
		}
	}
}

// ListKeys returns the names of the key fields of the list at p, as far as the shape shows them: nil if it shows none.
func (s Shape) ListKeys(p field.Path) []string {
	for _, n := range s.children(p) {
		if n.other == nil || n.other.Key == nil {
			continue
		}
		names := make([]string, 0, len(*n.other.Key))
		for _, k := range *n.other.Key {
			names = append(names, k.Name)
		}
		return names
	}
	return nil
}

func (s Shape) children(p field.Path) []node {
	if len(p) == 0 {
		return s.root
	}
	n, above := s.at(p)
	if n == nil || above {
		return nil
	}
	return n.children
}

// Owns reports whether every field that v names is owned where v stands at p.
func (s Shape) Owns(p field.Path, v any) bool {
	n, above := s.at(p)
	return n != nil && (above || n.covers(v))
}

// Covers reports whether every field that obj names is owned. What names the object (apiVersion, kind, name,
// namespace) has no owner.
func (s Shape) Covers(obj map[string]any) bool {
	for k, v := range obj {
		switch k {
		case "apiVersion", "kind":
		case "metadata":
			if !s.coversMetadata(v) {
				return false
			}
		default:
			if !coversField(s.root, k, v) {
				return false
			}
		}
	}
	return true
}

func (s Shape) coversMetadata(v any) bool {
	m, _ := v.(map[string]any)
	list := s.children(field.NewPath("metadata"))
	for k, v := range m {
		if k != "name" && k != "namespace" && !coversField(list, k, v) {
			return false
		}
	}
	return true
}

func coversField(list []node, name string, v any) bool {
	n := findNode(list, field.Element{FieldName: &name})
	return n != nil && n.covers(v)
}

func (n *node) covers(v any) bool {
	if n.leaf() {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for k, c := range v {
			if !coversField(n.children, k, c) && !field.IsPartOfKey(n.element(), k) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if i := itemNode(n.children, item); i < 0 || !n.children[i].covers(item) {
				return false
			}
		}
	}
	return true
}

// itemNode returns which of a list's nodes is the item's, -1 if none is.
func itemNode(list []node, item any) int {
	for i := range list {
		if e := list[i].element(); (e.Key != nil || e.Value != nil) && field.Matches(item, e) {
			return i
		}
	}
	return -1
}
