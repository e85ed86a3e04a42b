package cli

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// sortByPath puts items into the order of the values at a path of their JSON form, as kubectl's --sort-by: numbers by size, texts
// with the numbers in them by size, items without a value first, equal ones as they were.
func sortByPath[T any](items []T, path string, form func(T) any) ([]T, error) {
	at, err := parseRelaxedPath(path)
	if err != nil {
		return nil, usageError("--sort-by %s: %w", path, err)
	}
	type keyed struct {
		item T
		key  any
	}
	all, some := make([]keyed, 0, len(items)), len(items) == 0
	for _, item := range items {
		plain, err := toPlainJSON(form(item))
		if err != nil {
			return nil, err
		}
		found, err := at.FindResults(plain)
		if err != nil {
			return nil, usageError("--sort-by %s: %w", path, err)
		}
		key := firstResult(found)
		some = some || key != nil
		all = append(all, keyed{item, key})
	}
	if !some {
		return nil, usageError("--sort-by: couldn't find any field with path %q in the list of objects", path)
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return compareValues(a.key, b.key) })
	out := make([]T, 0, len(all))
	for _, k := range all {
		out = append(out, k.item)
	}
	return out, nil
}

func firstResult(found [][]reflect.Value) any {
	for _, values := range found {
		for _, v := range values {
			return v.Interface()
		}
	}
	return nil
}

func compareValues(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(rankPresence(a), rankPresence(b))
	}
	x, isNumber := numericValue(a)
	y, both := numericValue(b)
	if isNumber && both {
		return cmp.Compare(x, y)
	}
	return compareNatural(fmt.Sprint(a), fmt.Sprint(b))
}

func rankPresence(v any) int {
	if v == nil {
		return 0
	}
	return 1
}

func numericValue(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// compareNatural compares web-9 and web-10 as people do.
func compareNatural(a, b string) int {
	for a != "" && b != "" {
		x, y := leadingDigits(a), leadingDigits(b)
		if x == "" || y == "" {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		l, r := strings.TrimLeft(x, "0"), strings.TrimLeft(y, "0")
		if c := cmp.Or(cmp.Compare(len(l), len(r)), cmp.Compare(l, r)); c != 0 {
			return c
		}
		a, b = a[len(x):], b[len(y):]
	}
	return cmp.Compare(a, b)
}

func leadingDigits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
