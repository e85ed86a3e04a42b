package cli

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// sorted puts items into the order of the values at a path of their JSON form, as kubectl's --sort-by: numbers by size, texts
// with the numbers in them by size, items without a value first, equal ones as they were.
func sorted[T any](items []T, path string, form func(T) any) ([]T, error) {
	at, err := relaxed(path)
	if err != nil {
		return nil, usage("--sort-by %s: %w", path, err)
	}
	type keyed struct {
		item T
		key  any
	}
	all, some := make([]keyed, 0, len(items)), len(items) == 0
	for _, item := range items {
		plain, err := plainly(form(item))
		if err != nil {
			return nil, err
		}
		found, err := at.FindResults(plain)
		if err != nil {
			return nil, usage("--sort-by %s: %w", path, err)
		}
		key := first(found)
		some = some || key != nil
		all = append(all, keyed{item, key})
	}
	if !some {
		return nil, usage("--sort-by: couldn't find any field with path %q in the list of objects", path)
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return order(a.key, b.key) })
	out := make([]T, 0, len(all))
	for _, k := range all {
		out = append(out, k.item)
	}
	return out, nil
}

func first(found [][]reflect.Value) any {
	for _, values := range found {
		for _, v := range values {
			return v.Interface()
		}
	}
	return nil
}

func order(a, b any) int {
	if a == nil || b == nil {
		return cmp.Compare(present(a), present(b))
	}
	x, isNumber := number(a)
	y, both := number(b)
	if isNumber && both {
		return cmp.Compare(x, y)
	}
	return natural(fmt.Sprint(a), fmt.Sprint(b))
}

func present(v any) int {
	if v == nil {
		return 0
	}
	return 1
}

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case int64:
		return float64(n), true
	case float64:
		return n, true
	}
	return 0, false
}

// natural compares web-9 and web-10 as people do.
func natural(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
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

func digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
