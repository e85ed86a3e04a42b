package field

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Shape is the set of fields that one manager owns: metadata.managedFields[].fieldsV1, parsed.
// The zero Shape owns nothing.
type Shape struct {
	root []node
}

// node is one owned field or a field on the way to one.
type node struct {
	text     string // the element as fieldsV1 writes it
	element  Element
	self     bool // the field itself is owned ("." beside others): its presence counts, not its content
	children []node
}

// leaf reports whether the whole content of the field is owned: a scalar, or an atomic list or map.
func (n node) leaf() bool {
	return len(n.children) == 0 && !n.self && (n.element.FieldName != nil || n.element.Index != nil)
}

// ParseShape reads fieldsV1 as JSON text.
func ParseShape(fieldsV1 []byte) (Shape, error) {
	if len(bytes.TrimSpace(fieldsV1)) == 0 {
		return Shape{}, nil
	}
	var m map[string]any
	if err := json.Unmarshal(fieldsV1, &m); err != nil {
		return Shape{}, fmt.Errorf("parse fieldsV1: %w", err)
	}
	return NewShape(m)
}

// NewShape reads fieldsV1 as decoded JSON.
func NewShape(fieldsV1 map[string]any) (Shape, error) {
	root, _, err := nodes(fieldsV1)
	if err != nil {
		return Shape{}, fmt.Errorf("parse fieldsV1: %w", err)
	}
	return Shape{root: root}, nil
}

func nodes(m map[string]any) (children []node, self bool, err error) {
	children = make([]node, 0, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key == "." {
			self = true
			continue
		}
		e, err := pathElement(key)
		if err != nil {
			return nil, false, err
		}
		sub, ok := m[key].(map[string]any)
		if !ok {
			return nil, false, fmt.Errorf("%s holds a %T, want a map", key, m[key])
		}
		n := node{text: key, element: e}
		if n.children, n.self, err = nodes(sub); err != nil {
			return nil, false, err
		}
		children = append(children, n)
	}
	return children, self, nil
}

// Empty reports whether the shape owns nothing.
func (s Shape) Empty() bool { return len(s.root) == 0 }

// Has reports how the shape owns p: the field itself or all of it through an atomic ancestor.
// A field of which only parts are owned is not owned.
func (s Shape) Has(p Path) bool {
	list := s.root
	for i, e := range p {
		n := find(list, e)
		if n == nil {
			return false
		}
		if n.leaf() || i == len(p)-1 {
			return n.leaf() || n.self || len(n.children) == 0
		}
		list = n.children
	}
	return false
}

// Under reports whether the shape owns p, an ancestor of it as a whole, or anything below it.
func (s Shape) Under(p Path) bool {
	list := s.root
	for _, e := range p {
		n := find(list, e)
		if n == nil {
			return false
		}
		if n.leaf() {
			return true
		}
		list = n.children
	}
	return true
}

func find(list []node, e Element) *node {
	for i := range list {
		if list[i].element.Equals(e) {
			return &list[i]
		}
	}
	return nil
}

// Paths returns every owned field: leaves, and items and maps that are owned themselves.
func (s Shape) Paths() []Path {
	var all []Path
	walkPaths(s.root, nil, func(p Path) { all = append(all, p.Copy()) })
	return all
}

func walkPaths(list []node, prefix Path, visit func(Path)) {
	for _, n := range list {
		p := append(prefix, n.element)
		if len(n.children) == 0 || n.self {
			visit(p)
		}
		walkPaths(n.children, p, visit)
	}
}

// ListKeys returns the names of the key fields of the list at p, as far as the shape shows them: nil if it shows none.
func (s Shape) ListKeys(p Path) []string {
	list := s.root
	for _, e := range p {
		n := find(list, e)
		if n == nil {
			return nil
		}
		list = n.children
	}
	for _, n := range list {
		if n.element.Key == nil {
			continue
		}
		names := make([]string, 0, len(*n.element.Key))
		for _, k := range *n.element.Key {
			names = append(names, k.Name)
		}
		return names
	}
	return nil
}

// Leaf reports whether the shape owns the whole content of p.
func (s Shape) Leaf(p Path) bool {
	list := s.root
	for i, e := range p {
		n := find(list, e)
		if n == nil {
			return false
		}
		if n.leaf() {
			return true
		}
		if i == len(p)-1 {
			return false
		}
		list = n.children
	}
	return false
}

// Covers reports whether every field that obj names is owned. What names the object (apiVersion, kind, name,
// namespace) is nobody's.
func (s Shape) Covers(obj map[string]any) bool {
	for k, v := range obj {
		switch k {
		case "apiVersion", "kind":
			continue
		case "metadata":
			m, _ := v.(map[string]any)
			n := find(s.root, Element{FieldName: &k})
			for mk, mv := range m {
				if mk == "name" || mk == "namespace" {
					continue
				}
				if n == nil || !coversField(n.children, mk, mv) {
					return false
				}
			}
		default:
			if !coversField(s.root, k, v) {
				return false
			}
		}
	}
	return true
}

func coversField(list []node, name string, v any) bool {
	n := find(list, Element{FieldName: &name})
	return n != nil && n.covers(v)
}

func (n *node) covers(v any) bool {
	if n.leaf() {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for k, c := range v {
			if !coversField(n.children, k, c) && !n.isKey(k) {
				return false
			}
		}
	case []any:
		for _, item := range v {
			if !n.coversItem(item) {
				return false
			}
		}
	}
	return true
}

func (n *node) isKey(name string) bool {
	if n.element.Key == nil {
		return false
	}
	for _, k := range *n.element.Key {
		if k.Name == name {
			return true
		}
	}
	return false
}

func (n *node) coversItem(item any) bool {
	for i := range n.children {
		c := &n.children[i]
		if position([]any{item}, c.element) == 0 && c.covers(item) {
			return true
		}
	}
	return false
}

// JSON prints the shape as fieldsV1, keys in order: equal shapes print equal texts.
func (s Shape) JSON() string {
	var b strings.Builder
	writeNodes(&b, s.root, false)
	return b.String()
}

func writeNodes(b *strings.Builder, list []node, self bool) {
	b.WriteByte('{')
	if self {
		b.WriteString(`".":{}`)
	}
	for i, n := range list {
		if i > 0 || self {
			b.WriteByte(',')
		}
		text, _ := json.Marshal(n.text) // a string always has a JSON form
		b.Write(text)
		b.WriteByte(':')
		writeNodes(b, n.children, n.self)
	}
	b.WriteByte('}')
}
