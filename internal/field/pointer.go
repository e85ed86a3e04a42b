package field

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/truce-gitops/truce/internal/object"
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

// Resolve finds the field that the pointer names in obj. Positions in keyed lists become list keys, which
// the owners' shapes tell; so the path stays right when somebody puts an item before it. False if it is not there.
func (p Pointer) Resolve(obj object.Object, owners []Owner) (Path, bool) {
	var path Path
	var v any = map[string]any(obj)
	for _, token := range p {
		e, ok := step(v, token, keysAt(owners, path))
		if !ok {
			return nil, false
		}
		if v, ok = child(v, e); !ok {
			return nil, false
		}
		path = append(path, e)
	}
	return path, true
}

func step(v any, token string, keys []string) (Element, bool) {
	switch v := v.(type) {
	case map[string]any:
		return Element{FieldName: &token}, true
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) {
			return Element{}, false
		}
		if item, ok := v[i].(map[string]any); ok && len(keys) > 0 {
			return KeyElement(item, keys), true
		}
		return Element{Index: &i}, true
	}
	return Element{}, false
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

func keysAt(owners []Owner, p Path) []string {
	for _, o := range owners {
		if keys := o.Fields.ListKeys(p); keys != nil {
			return keys
		}
	}
	return nil
}

// Atomic returns the shortest ancestor of p (or p) that some owner owns as a whole, and whether there is one above p:
// a part of an atomic field cannot be left out of an apply alone.
func Atomic(owners []Owner, p Path) (Path, bool) {
	for _, o := range owners {
		list := o.Fields.root
		for i, e := range p {
			n := find(list, e)
			if n == nil {
				break
			}
			if n.leaf() && i < len(p)-1 {
				return p[:i+1], true
			}
			list = n.children
		}
	}
	return nil, false
}
