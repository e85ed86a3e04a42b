package ownership

import (
	"fmt"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Shape is the set of fields that one manager owns: metadata.managedFields[].fieldsV1, parsed.
// The zero Shape owns nothing.
type Shape struct {
	root    []node
	printed string // what JSON prints, where that is known
}

// node is one owned field or a field on the way to one.
type node struct {
	text     string         // the element as fieldsV1 writes it
	name     string         // of a field
	other    *field.Element // what is no field's name: a list key, a set value, a position
	self     bool           // the field itself is owned ("." beside others): its presence counts, not its content
	children []node
}

// leaf reports whether the whole content of the field is owned: a scalar, an atomic list or map, or a map that was sent empty.
func (n *node) leaf() bool {
	return len(n.children) == 0 && !n.self && (n.other == nil || n.other.Index != nil)
}

// owned reports whether the field itself is owned, be it by presence or by content.
func (n *node) owned() bool { return len(n.children) == 0 || n.self }

// newShape reads fieldsV1 as decoded JSON.
func newShape(fieldsV1 map[string]any) (Shape, error) {
	room := make([]node, 0, countNodes(fieldsV1))
	root, _, err := readNodes(fieldsV1, &room)
	if err != nil {
		return Shape{}, fmt.Errorf("parse fieldsV1: %w", err)
	}
	return Shape{root: root}, nil
}

// countNodes is how many nodes there will be, so that they stand side by side in one piece of memory.
func countNodes(m map[string]any) int {
	n := 0
	for key, v := range m {
		if key != "." {
			sub, _ := v.(map[string]any)
			n += 1 + countNodes(sub)
		}
	}
	return n
}

func readNodes(m map[string]any, room *[]node) (children []node, self bool, err error) {
	if len(m) == 0 {
		return nil, false, nil
	}
	var few [16]string // most maps are small: their keys are sorted on the stack
	keys := few[:0]
	for key := range m {
		if key == "." {
			self = true
			continue
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	begin := len(*room)
	*room = (*room)[:begin+len(keys)]
	children = (*room)[begin:len(*room):len(*room)]
	for i, key := range keys {
		sub, ok := m[key].(map[string]any)
		if !ok {
			return nil, false, fmt.Errorf("%s holds a %T, want a map", key, m[key])
		}
		n := &children[i]
		n.text = key
		if err := n.decode(); err != nil {
			return nil, false, err
		}
		if n.children, n.self, err = readNodes(sub, room); err != nil {
			return nil, false, err
		}
	}
	return children, self, nil
}

// decode reads the node's text: f:spec, k:{"name":"web"}, v:"x" or i:0.
func (n *node) decode() error {
	var ok bool
	if n.name, ok = strings.CutPrefix(n.text, "f:"); ok {
		return nil
	}
	if n.other, ok = plainKey(n.text); ok {
		return nil
	}
	e, err := fieldpath.DeserializePathElement(n.text)
	if err != nil {
		return fmt.Errorf("%q: %w", n.text, err)
	}
	n.other = &e
	return nil
}

// element is the node's step of a path. It points into the node, so that making one costs nothing.
func (n *node) element() field.Element {
	if n.other != nil {
		return *n.other
	}
	return field.Element{FieldName: &n.name}
}

// Empty reports whether the shape owns nothing.
func (s Shape) Empty() bool { return len(s.root) == 0 }

// JSON prints the shape as fieldsV1, keys in order: equal shapes print equal texts.
func (s Shape) JSON() string {
	if s.printed != "" {
		return s.printed
	}
	var b strings.Builder
	writeNodes(&b, s.root, false)
	return b.String()
}

func writeNodes(b *strings.Builder, list []node, self bool) {
	b.WriteByte('{')
	if self {
		b.WriteString(`".":{}`)
	}
	for i := range list {
		if i > 0 || self {
			b.WriteByte(',')
		}
		b.WriteString(quotedText(list[i].text))
		b.WriteByte(':')
		writeNodes(b, list[i].children, list[i].self)
	}
	b.WriteByte('}')
}

// matchesFields reports whether the nodes are those that decoded fieldsV1 would be read as, without reading it.
func matchesFields(list []node, self bool, fieldsV1 map[string]any) bool {
	want := len(list)
	if self {
		want++
	}
	if len(fieldsV1) != want {
		return false
	}
	if _, dot := fieldsV1["."]; dot != self {
		return false
	}
	for i := range list {
		sub, ok := fieldsV1[list[i].text].(map[string]any)
		if !ok || !matchesFields(list[i].children, list[i].self, sub) {
			return false
		}
	}
	return true
}

// Equal reports whether the two shapes own the same fields.
func (s Shape) Equal(other Shape) bool { return equalNodes(s.root, other.root) }

func equalNodes(a, b []node) bool {
	return slices.EqualFunc(a, b, func(x, y node) bool {
		return x.text == y.text && x.self == y.self && equalNodes(x.children, y.children)
	})
}

// Is reports whether the text is what JSON would print, without printing it.
func (s Shape) Is(text string) bool {
	if s.printed != "" {
		return s.printed == text
	}
	rest, ok := cutNodes(text, s.root, false)
	return ok && rest == ""
}

// As is the shape with the text that JSON prints, which then need not be compared or printed again; false where it prints another.
func (s Shape) As(text string) (Shape, bool) {
	if !s.Is(text) {
		return s, false
	}
	s.printed = text
	return s, true
}

// cutNodes takes what writeNodes writes off the front of the text.
func cutNodes(text string, list []node, self bool) (rest string, ok bool) {
	open := "{"
	if self {
		open = `{".":{}`
	}
	if rest, ok = strings.CutPrefix(text, open); !ok {
		return rest, false
	}
	for i := range list {
		if i > 0 || self {
			if rest, ok = strings.CutPrefix(rest, ","); !ok {
				return rest, false
			}
		}
		if rest, ok = cutName(rest, list[i].text); !ok {
			return rest, false
		}
		if rest, ok = cutNodes(rest, list[i].children, list[i].self); !ok {
			return rest, false
		}
	}
	return strings.CutPrefix(rest, "}")
}
