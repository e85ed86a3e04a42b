package addition

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
)

// Pointers names the additions by where they stand in live, so that each may be taken away after those before it.
func Pointers(live object.Object, all []compare.Addition) []field.Pointer {
	var out []field.Pointer
	for _, a := range all {
		if p, ok := pointer(live, a.Path); ok {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b field.Pointer) int { return lastFirst(live, a, b) })
	return out
}

func pointer(live object.Object, p field.Path) (field.Pointer, bool) {
	var v any = map[string]any(live)
	var out field.Pointer
	for _, e := range p {
		if e.FieldName != nil {
			out = append(out, *e.FieldName)
		} else {
			items, _ := v.([]any)
			i := slices.IndexFunc(items, func(item any) bool { return field.Matches(item, e) })
			if i < 0 {
				return nil, false
			}
			out = append(out, strconv.Itoa(i))
		}
		var there bool
		if v, there = field.ChildValue(v, e); !there {
			return nil, false
		}
	}
	return out, true
}

// lastFirst compares two pointers so that of a list's items the last one goes first, and the positions of the others hold.
func lastFirst(o object.Object, a, b field.Pointer) int {
	var live any = map[string]any(o)
	for i := range min(len(a), len(b)) {
		items, isList := live.([]any)
		if a[i] == b[i] {
			live = childAt(live, a[i])
			continue
		}
		if isList {
			return cmp.Compare(listPosition(items, b[i]), listPosition(items, a[i]))
		}
		return cmp.Compare(a[i], b[i])
	}
	return cmp.Compare(len(a), len(b))
}

func childAt(v any, token string) any {
	switch v := v.(type) {
	case map[string]any:
		return v[token]
	case []any:
		if i := listPosition(v, token); i >= 0 {
			return v[i]
		}
	}
	return nil
}

func listPosition(items []any, token string) int {
	i, err := strconv.Atoi(token)
	if err != nil || i >= len(items) {
		return -1
	}
	return i
}

// WithoutDefaults drops what the server would put there by itself, its defaults and what its admission adds: without is what it makes of live
// when all additions are taken away.
func WithoutDefaults(live, without object.Object, all []compare.Addition) []compare.Addition {
	return slices.DeleteFunc(slices.Clone(all), func(a compare.Addition) bool {
		is, _ := field.ValueAt(live, a.Path)
		then, there := field.ValueAt(without, a.Path)
		return there && field.EqualValues(is, then)
	})
}
