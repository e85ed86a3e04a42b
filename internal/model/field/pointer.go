package field

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// Pointer is an RFC 6901 JSON pointer, cut at its slashes and unescaped.
type Pointer []string

// ParsePointer reads a JSON pointer such as /metadata/annotations/a.b~1c. It must not be empty: that would be the whole object.
func ParsePointer(s string) (Pointer, error) {
	if !strings.HasPrefix(s, "/") || s == "/" {
		return nil, fmt.Errorf("JSON pointer %q: want a path that begins with / and names a field, such as /spec/replicas", s)
	}
	parts := strings.Split(s[1:], "/")
	for i, part := range parts {
		if rest := strings.NewReplacer("~0", "", "~1", "").Replace(part); strings.Contains(rest, "~") {
			return nil, fmt.Errorf("JSON pointer %q: ~ stands only in ~0 (for ~) and ~1 (for /)", s)
		}
		parts[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
	}
	return parts, nil
}

// String prints the pointer as RFC 6901 writes it.
func (p Pointer) String() string {
	var b strings.Builder
	for _, part := range p {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	return b.String()
}

// KeyElement names a list item by those of its fields that are keys; key fields that it lacks are left out.
func KeyElement(item map[string]any, keys []string) Element {
	var list value.FieldList
	for _, k := range slices.Sorted(slices.Values(keys)) {
		if v, ok := item[k]; ok {
			list = append(list, value.Field{Name: k, Value: value.NewValueInterface(v)})
		}
	}
	return Element{Key: &list}
}

// IsListKey reports whether p is a key field of a list item: a part of the item's name, that no other value can take.
func IsListKey(p Path) bool {
	n := len(p)
	return n > 1 && p[n-1].FieldName != nil && IsPartOfKey(p[n-2], *p[n-1].FieldName)
}

// IsPartOfKey reports whether the element is a list item of which the name is a key field.
func IsPartOfKey(e Element, name string) bool {
	if e.Key == nil {
		return false
	}
	for _, k := range *e.Key {
		if k.Name == name {
			return true
		}
	}
	return false
}
