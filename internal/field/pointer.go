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
// the owners' shapes tell; so the path stays right when somebody puts an item before it.
//
// A field that obj has no more is found as long as Manager owns it in the cluster. False if it is nowhere.
func (p Pointer) Resolve(obj object.Object, owners []Owner) (Path, bool) {
	var path Path
	var v any = map[string]any(obj)
	there := true
	for _, token := range p {
		e, ok := step(v, token, owners, path)
		if !ok {
			return nil, false
		}
		path = append(path, e)
		if v, ok = child(v, e); !ok {
			v, there = nil, false
		}
	}
	return path, there || ApplyEntry(owners, Manager).Under(path)
}

func step(v any, token string, owners []Owner, at Path) (Element, bool) {
	list, ok := v.([]any)
	if !ok {
		return Element{FieldName: &token}, true
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(list) || strconv.Itoa(i) != token {
		return Element{}, false
	}
	return itemElement(list[i], i, owners, at), true
}

// itemElement names a list item as the owners' shapes do: by its keys, by its value, or by its position.
func itemElement(item any, i int, owners []Owner, list Path) Element {
	var keys []string
	for _, o := range owners {
		nodes := o.Fields.children(list)
		if n := itemNode(nodes, item); n >= 0 {
			return nodes[n].element
		}
		if keys == nil {
			keys = o.Fields.ListKeys(list)
		}
	}
	if m, ok := item.(map[string]any); ok && len(keys) > 0 {
		return KeyElement(m, keys)
	}
	return Element{Index: &i}
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

// IsKey reports whether p is a key field of a list item: a part of the item's name, that no other value can take.
func IsKey(p Path) bool {
	n := len(p)
	return n > 1 && p[n-1].FieldName != nil && isKey(p[n-2], *p[n-1].FieldName)
}

// Atomic returns the shortest ancestor of p that some owner owns as a whole, and whether there is one:
// a part of an atomic field cannot be left out of an apply alone. An item that only its position names is a part too.
func Atomic(owners []Owner, p Path) (Path, bool) {
	for _, o := range owners {
		list := o.Fields.root
		for i, e := range p[:max(len(p)-1, 0)] {
			n := find(list, e)
			if n == nil {
				break
			}
			if n.leaf() {
				return p[:i+1], true
			}
			list = n.children
		}
	}
	if i := slices.IndexFunc(p, func(e Element) bool { return e.Index != nil }); i > 0 {
		return p[:i], true
	}
	return nil, false
}
