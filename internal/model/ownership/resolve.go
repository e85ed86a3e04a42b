package ownership

import (
	"maps"
	"slices"
	"strconv"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Resolve finds the field that the pointer names in obj. Positions in keyed lists become list keys, which
// the owners' shapes show; so the path stays right when an item is inserted before it.
//
// A field that obj has no more is found as long as Manager owns it in the cluster. False if it is nowhere.
func Resolve(p field.Pointer, obj object.Object, owners []Entry) (field.Path, bool) {
	var path field.Path
	var v any = map[string]any(obj)
	there := true
	for _, token := range p {
		e, ok := resolveToken(v, token, owners, path)
		if !ok {
			return nil, false
		}
		path = append(path, e)
		if v, ok = field.ChildValue(v, e); !ok {
			v, there = nil, false
		}
	}
	return path, there || ApplyEntry(owners, Manager).Under(path)
}

func resolveToken(v any, token string, owners []Entry, at field.Path) (field.Element, bool) {
	list, ok := v.([]any)
	if !ok {
		return field.Element{FieldName: &token}, true
	}
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= len(list) || strconv.Itoa(i) != token {
		return field.Element{}, false
	}
	return itemElement(list[i], i, owners, at), true
}

// itemElement names a list item as the owners' shapes do: by its keys, by its value, or by its position.
func itemElement(item any, i int, owners []Entry, list field.Path) field.Element {
	var keys []string
	for _, o := range owners {
		nodes := o.Fields.children(list)
		if n := itemNode(nodes, item); n >= 0 {
			return nodes[n].element()
		}
		if keys == nil {
			keys = o.Fields.ListKeys(list)
		}
	}
	if m, ok := item.(map[string]any); ok && len(keys) > 0 {
		return field.KeyElement(m, keys)
	}
	return field.Element{Index: &i}
}

// FieldsOf lists what v, which stands at the path, names: single values, empty maps, and lists; of lists whose items the owners'
// shapes know by keys, the items, each before what is in it.
func FieldsOf(v any, at field.Path, owners []Entry) []field.Path {
	var out []field.Path
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, FieldsOf(v[k], append(at.Copy(), field.NewPath(k)...), owners)...)
		}
	case []any:
		for i, item := range v {
			e := itemElement(item, i, owners, at)
			if e.Index != nil {
				return []field.Path{at}
			}
			p := append(at.Copy(), e)
			out = append(out, p)
			if e.Key != nil {
				out = append(out, FieldsOf(item, p, owners)...)
			}
		}
	}
	if len(out) == 0 {
		return []field.Path{at}
	}
	return out
}

// AtomicAncestor returns the shortest ancestor of p that some owner owns as a whole, and whether there is one:
// a part of an atomic field cannot be left out of an apply alone. An item that only its position names is a part too.
func AtomicAncestor(owners []Entry, p field.Path) (field.Path, bool) {
	shortest := len(p)
	for _, o := range owners {
		if depth, ok := o.Fields.whole(p); ok && depth < shortest && !granular(owners, p[:depth]) {
			shortest = depth
		}
	}
	if i := slices.IndexFunc(p, func(e field.Element) bool { return e.Index != nil }); i > 0 {
		shortest = min(shortest, i)
	}
	return p[:shortest], shortest < len(p)
}

// Owns reports whether the entry owns p, by itself or as a part of an atomic field. An entry may name a map only because it is
// there: fieldsV1 writes that as it writes an atomic field. Another entry that names something in the map distinguishes the two.
func (o Entry) Owns(p field.Path, owners []Entry) bool {
	if depth, above := o.Fields.whole(p); above {
		return !granular(owners, p[:depth])
	}
	return o.Fields.Has(p)
}

// whole returns at which depth above p the shape names a field without anything in it.
func (s Shape) whole(p field.Path) (depth int, ok bool) {
	list := s.root
	for i, e := range p[:max(len(p)-1, 0)] {
		n := findNode(list, e)
		if n == nil {
			return 0, false
		}
		if n.leaf() {
			return i + 1, true
		}
		list = n.children
	}
	return 0, false
}

// granular reports whether some owner names something in the field: then it is not atomic.
func granular(owners []Entry, p field.Path) bool {
	return slices.ContainsFunc(owners, func(o Entry) bool {
		n, above := o.Fields.at(p)
		return n != nil && !above && len(n.children) > 0
	})
}
