package substitute

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/redact"
)

// sensitive lists the fields into which Secrets' values went: those that would be others if the values were. This finds a value in whatever
// form an expression has left it, and short ones too.
func (d document) sensitive(is object.Object, placeholders map[string]string) [][]string {
	other, err := d.object(placeholders)
	if err != nil {
		return [][]string{{}} // it is not known where they went: all of it
	}
	return DifferingFields(is, other)
}

// DifferingFields lists the fields in which two forms of one object differ, in the form of redact.Sensitive.
func DifferingFields(is, other object.Object) [][]string {
	var out [][]string
	differing(map[string]any(is), map[string]any(other), nil, func(names []string) {
		if !slices.ContainsFunc(out, func(known []string) bool { return slices.Equal(known, names) }) {
			out = append(out, names)
		}
	})
	slices.SortFunc(out, slices.Compare)
	return out
}

// differing calls found with the way to each value in which two objects differ.
func differing(a, b any, at []string, found func([]string)) {
	below := func(name string) []string { return append(slices.Clip(at), name) }
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || !sameKeys(x, y) {
			found(at)
			return
		}
		for k, v := range x {
			differing(v, y[k], below(k), found)
		}
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			found(at)
			return
		}
		for i := range x {
			differing(x[i], y[i], below(listItemOf(x[i], y[i])), found)
		}
	default:
		if !reflect.DeepEqual(a, b) {
			found(at)
		}
	}
}

// listItemOf is what distinguishes an item of a list from the others.
func listItemOf(x, y any) string {
	a, _ := x.(map[string]any)
	b, _ := y.(map[string]any)
	if name, ok := a["name"].(string); ok && name == b["name"] {
		return redact.ItemNamed(name)
	}
	return redact.AnyItem
}

// sameKeys reports whether no value is in a key.
func sameKeys(x, y map[string]any) bool {
	return len(x) == len(y) && !slices.ContainsFunc(slices.Collect(maps.Keys(x)), func(k string) bool { _, ok := y[k]; return !ok })
}

// Disguise is another value than a Secret's, by which the fields are found that the Secret's went into.
func Disguise(value string) string { return placeholder(value) }

// placeholder is another value, different in its length and in each character, in upper and lower case. An empty value stays empty: its
// default stands for it.
func placeholder(value string) string {
	if value == "" {
		return ""
	}
	var b strings.Builder
	for _, c := range []byte(value) {
		if c|0x20 == 'q' {
			b.WriteByte('z')
		} else {
			b.WriteByte('q')
		}
	}
	return b.String() + "qzqzqzq"
}
