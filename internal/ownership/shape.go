package ownership

import (
	"encoding/json"
	"fmt"
	"github.com/truce-gitops/truce/internal/field"
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
	element  field.Element
	self     bool // the field itself is owned ("." beside others): its presence counts, not its content
	children []node
}

// leaf reports whether the whole content of the field is owned: a scalar, an atomic list or map, or a map that was sent empty.
func (n *node) leaf() bool {
	return len(n.children) == 0 && !n.self && (n.element.FieldName != nil || n.element.Index != nil)
}

// owned reports whether the field itself is owned, be it by presence or by content.
func (n *node) owned() bool { return len(n.children) == 0 || n.self }

// NewShape reads fieldsV1 as decoded JSON.
func NewShape(fieldsV1 map[string]any) (Shape, error) {
	root, _, err := nodes(fieldsV1)
	if err != nil {
		return Shape{}, fmt.Errorf("parse fieldsV1: %w", err)
	}
	return Shape{root: root}, nil
}

func nodes(m map[string]any) (children []node, self bool, err error) {
	if len(m) == 0 {
		return nil, false, nil
	}
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
	for i := range list {
		if i > 0 || self {
			b.WriteByte(',')
		}
		b.WriteString(quoted(list[i].text))
		b.WriteByte(':')
		writeNodes(b, list[i].children, list[i].self)
	}
	b.WriteByte('}')
}

// quoted is the JSON form of an element's text; only list keys and set values need more than quotes.
func quoted(text string) string {
	if isPlain(text) {
		return `"` + text + `"`
	}
	out, _ := json.Marshal(text) // a string always has a JSON form
	return string(out)
}

func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
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
	rest, ok := cutNodes(text, s.root, false)
	return ok && rest == ""
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

func cutName(text, name string) (rest string, ok bool) {
	if !isPlain(name) {
		return strings.CutPrefix(text, quoted(name)+":")
	}
	n := len(name)
	if len(text) < n+3 || text[0] != '"' || text[1:n+1] != name || text[n+1] != '"' || text[n+2] != ':' {
		return text, false
	}
	return text[n+3:], true
}
