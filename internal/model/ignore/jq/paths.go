package jq

import (
	"errors"
	"reflect"
	"slices"
	"strconv"

	"github.com/itchyny/gojq"

	"github.com/truce-gitops/truce/internal/model/field"
)

var errRoot = errors.New("it selects the whole object")

// pointers turns one path of jq in v into pointers: more than one where it has a slice.
func pointers(v any, path []any) ([]field.Pointer, error) {
	if len(path) == 0 {
		return nil, errRoot
	}
	out := []located{{value: v}}
	for _, step := range path {
		var next []located
		for _, at := range out {
			next = append(next, at.step(step)...)
		}
		if out = next; len(out) > maxPaths {
			return nil, errMany
		}
	}
	all := make([]field.Pointer, len(out))
	for i, at := range out {
		all[i] = at.pointer
	}
	return all, nil
}

// located is a place in an object, and what is there; nil if nothing is.
type located struct {
	pointer field.Pointer
	value   any
}

func (l located) to(token string, value any) located {
	return located{pointer: append(slices.Clip(l.pointer), token), value: value}
}

func (l located) step(step any) []located {
	list, _ := l.value.([]any)
	switch step := step.(type) {
	case string:
		m, _ := l.value.(map[string]any)
		return []located{l.to(step, m[step])}
	case map[string]any: // a slice
		return l.slice(list, step)
	}
	n, ok := gojq.ToInt(step)
	if n < 0 {
		n += len(list)
	}
	if !ok || n < 0 || n >= len(list) {
		return nil // there is no such item
	}
	return []located{l.to(strconv.Itoa(n), list[n])}
}

func (l located) slice(list []any, step map[string]any) []located {
	bound := func(v any, otherwise int) int {
		n, ok := gojq.ToInt(v)
		if !ok {
			return otherwise
		}
		if n < 0 {
			n += len(list)
		}
		return min(max(n, 0), len(list))
	}
	var out []located
	for i := bound(step["start"], 0); i < bound(step["end"], len(list)); i++ {
		out = append(out, l.to(strconv.Itoa(i), list[i]))
	}
	return out
}

// outermost drops what lies in something else that is selected, and what is selected twice.
func outermost(all []field.Pointer) []field.Pointer {
	slices.SortFunc(all, func(a, b field.Pointer) int { return slices.Compare(a, b) })
	var out []field.Pointer
	for _, p := range all {
		if n := len(out); n == 0 || !isWithin(p, out[n-1]) {
			out = append(out, p)
		}
	}
	return out
}

func isWithin(p, outer field.Pointer) bool {
	return len(p) >= len(outer) && slices.Equal(p[:len(outer)], outer)
}

// counting are jq's functions that choose by position.
var counting = []string{"first", "last", "nth", "limit", "skip", "until", "input_line_number"}

// countsItems reports whether an expression names list items by their positions, or could: with a number or a slice in brackets, or
// by one of the counting functions.
func countsItems(q *gojq.Query) bool {
	found := false
	visitSyntax(reflect.ValueOf(q), func(v any) {
		switch v := v.(type) {
		case gojq.Index:
			found = found || v.IsSlice || v.Start != nil && !isTextQuery(v.Start)
		case gojq.Func:
			found = found || slices.Contains(counting, v.Name)
		}
	})
	return found
}

func isTextQuery(q *gojq.Query) bool { return q.Term != nil && q.Term.Type == gojq.TermTypeString }

// visitSyntax calls what it finds in a syntax tree, which is plain structs, pointers and slices.
func visitSyntax(v reflect.Value, found func(any)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			visitSyntax(v.Elem(), found)
		}
	case reflect.Slice:
		for i := range v.Len() {
			visitSyntax(v.Index(i), found)
		}
	case reflect.Struct:
		found(v.Interface())
		for i := range v.NumField() {
			visitSyntax(v.Field(i), found)
		}
	default:
	}
}
