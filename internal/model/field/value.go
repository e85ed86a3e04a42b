package field

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// ValueAt returns the value at p of an object and whether it is there. An empty path is the whole object.
//
// A list key that names a field which the item lacks matches too: the server's keys contain defaults
// (protocol: TCP) that a manifest leaves out. An item with all keys is preferred.
func ValueAt(root map[string]any, p Path) (any, bool) {
	var v any = root
	for _, e := range p {
		var ok bool
		if v, ok = ChildValue(v, e); !ok {
			return nil, false
		}
	}
	return v, true
}

// ChildValue returns the value that one element names inside v, and whether it is there.
func ChildValue(v any, e Element) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		if e.FieldName == nil {
			return nil, false
		}
		c, ok := v[*e.FieldName]
		return c, ok
	case []any:
		if i := position(v, e); i >= 0 {
			return v[i], true
		}
	}
	return nil, false
}

// position finds the list item that e names, -1 if there is none.
func position(list []any, e Element) int {
	switch {
	case e.Index != nil:
		if *e.Index >= 0 && *e.Index < len(list) {
			return *e.Index
		}
	case e.Value != nil:
		want := (*e.Value).Unstructured()
		return slices.IndexFunc(list, func(v any) bool { return EqualValues(v, want) })
	case e.Key != nil:
		if i := slices.IndexFunc(list, func(v any) bool { return matchesKey(v, e, keyComplete) }); i >= 0 {
			return i
		}
		return slices.IndexFunc(list, func(v any) bool { return matchesKey(v, e, keyMayLack) })
	}
	return -1
}

// CountMatching returns how many items of the list have the keys that e names.
func CountMatching(list any, e Element) int {
	items, _ := list.([]any)
	n := 0
	for _, item := range items {
		if matchesKey(item, e, keyComplete) {
			n++
		}
	}
	return n
}

type keyMatch int

const (
	keyComplete keyMatch = iota // every key field must be there
	keyMayLack                  // a key field may be absent, if another one matches
)

func matchesKey(item any, e Element, how keyMatch) bool {
	m, ok := item.(map[string]any)
	if !ok {
		return false
	}
	found := false
	for _, k := range *e.Key {
		v, there := m[k.Name]
		if !there && how == keyMayLack {
			continue
		}
		if !there || !EqualValues(v, k.Value.Unstructured()) {
			return false
		}
		found = true
	}
	return found
}

// EqualValues compares decoded JSON values; whole floats equal integers, as in JSON. Whole objects are compared by maps.EqualFunc with it.
func EqualValues(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		bm, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, bm, EqualValues)
	case []any:
		bl, ok := b.([]any)
		return ok && slices.EqualFunc(a, bl, EqualValues)
	case int64, float64, int:
		n, isWhole := WholeNumber(a)
		if m, ok := WholeNumber(b); ok || isWhole {
			return ok && isWhole && n == m
		}
	}
	return a == b
}

// DuplicatesOf reports whether p is a list item that stands in an object more than once, and returns all of them. The API server takes such
// lists in plain updates only.
func DuplicatesOf(root map[string]any, p Path) ([]any, bool) {
	if len(p) == 0 || p[len(p)-1].Key == nil {
		return nil, false
	}
	list, _ := ValueAt(root, p[:len(p)-1])
	items, _ := list.([]any)
	var out []any
	for _, item := range items {
		if matchesKey(item, p[len(p)-1], keyComplete) {
			out = append(out, item)
		}
	}
	return out, len(out) > 1
}

// ContainsValues reports whether live has every value that want names. Maps of live may hold more: the API server's defaults.
func ContainsValues(live, want any) bool {
	if w, ok := want.(map[string]any); ok {
		l, ok := live.(map[string]any)
		for k, v := range w {
			c, there := l[k]
			if !there || !ContainsValues(c, v) {
				return false
			}
		}
		return ok
	}
	if w, ok := want.([]any); ok {
		l, ok := live.([]any)
		return ok && slices.EqualFunc(l, w, ContainsValues)
	}
	return EqualValues(live, want)
}

// WholeNumber returns a number as an integer, where it is one: JSON does not distinguish 1 from 1.0.
func WholeNumber(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case float64:
		n := int64(v)
		return n, float64(n) == v && math.Abs(v) < 1<<63
	}
	return 0, false
}

// SetValue writes value at p inside root, making the maps and keyed list items on the way.
// It reports false where the path crosses a value of another form, or a list position that is not there.
func SetValue(root map[string]any, p Path, value any) bool {
	_, ok := setValueIn(root, p, value)
	return ok
}

func setValueIn(v any, p Path, value any) (any, bool) {
	if len(p) == 0 {
		return value, true
	}
	if p[0].FieldName != nil {
		return putName(v, p, value)
	}
	return putItem(v, p, value)
}

func putName(v any, p Path, value any) (any, bool) {
	m, ok := v.(map[string]any)
	if v == nil {
		m, ok = map[string]any{}, true
	}
	if !ok {
		return v, false
	}
	c, ok := setValueIn(m[*p[0].FieldName], p[1:], value)
	if ok {
		m[*p[0].FieldName] = c
	}
	return m, ok
}

func putItem(v any, p Path, value any) (any, bool) {
	list, ok := v.([]any)
	if v != nil && !ok {
		return v, false
	}
	if i := position(list, p[0]); i >= 0 {
		c, ok := setValueIn(list[i], p[1:], value)
		if ok {
			list[i] = c
		}
		return list, ok
	}
	item, ok := newItem(p[0])
	if !ok {
		return v, false
	}
	c, ok := setValueIn(item, p[1:], value)
	return append(list, c), ok
}

func newItem(e Element) (any, bool) {
	switch {
	case e.Key != nil:
		m := map[string]any{}
		for _, k := range *e.Key {
			m[k.Name] = k.Value.Unstructured()
		}
		return m, true
	case e.Value != nil:
		return (*e.Value).Unstructured(), true
	}
	return nil, false
}

// RemoveValue removes the value at p from root, and the maps that this leaves empty. It reports whether it was there.
func RemoveValue(root map[string]any, p Path) bool {
	_, dropped := removeFrom(root, p)
	return dropped
}

func removeFrom(v any, p Path) (any, bool) {
	if len(p) == 0 {
		return nil, true
	}
	c, ok := ChildValue(v, p[0])
	if !ok {
		return v, false
	}
	list, _ := v.([]any)
	i := position(list, p[0]) // before anything in the item changes, which may be its key
	rest, dropped := removeFrom(c, p[1:])
	if !dropped {
		return v, false
	}
	gone := len(p) == 1 || isEmptyValue(rest)
	if m, ok := v.(map[string]any); ok {
		if gone {
			delete(m, *p[0].FieldName)
		} else {
			m[*p[0].FieldName] = rest
		}
		return m, true
	}
	if gone {
		return slices.Delete(list, i, i+1), true
	}
	list[i] = rest
	return list, true
}

func isEmptyValue(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

func scalarString(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	}
	return fmt.Sprint(v)
}

func quoteText(s string) string { return strconv.Quote(s) }

// Matches reports whether the list item is the one that e names.
func Matches(item any, e Element) bool { return position([]any{item}, e) == 0 }
