// Package field answers: which field of an object is it, and what does it hold?
//
// In: plain objects, paths, JSON pointers.
// Out: Paths, the values at them, and objects with a value put in or dropped.
// Promise: pure; a list item is named by its keys, never by its position, wherever keys are known; looking never changes an object.
// Not here: who set a field (ownership), which differences matter (ignore, claim, compare).
package field

import (
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// Path names one field: names, list keys, set values or positions, from the root of the object.
type Path = fieldpath.Path

// Element is one step of a Path.
type Element = fieldpath.PathElement

// NewPath returns the path of nested field names, such as Name("spec", "replicas").
func NewPath(names ...string) Path {
	p := make(Path, len(names))
	for i := range names {
		p[i] = Element{FieldName: &names[i]}
	}
	return p
}

// PathString prints a path as people read it: .spec.template.spec.containers[name=web].image.
func PathString(p Path) string {
	var b strings.Builder
	for _, e := range p {
		b.WriteString(elementString(e))
	}
	if b.Len() == 0 {
		return "."
	}
	return b.String()
}

func elementString(e Element) string {
	switch {
	case e.FieldName != nil && plainName(*e.FieldName):
		return "." + *e.FieldName
	case e.FieldName != nil:
		return "[" + quoteText(*e.FieldName) + "]"
	case e.Key != nil:
		parts := make([]string, 0, len(*e.Key))
		for _, k := range *e.Key {
			parts = append(parts, k.Name+"="+scalarString(k.Value.Unstructured()))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case e.Value != nil:
		return "[=" + scalarString((*e.Value).Unstructured()) + "]"
	case e.Index != nil:
		return "[" + scalarString(int64(*e.Index)) + "]"
	}
	return "[?]"
}

func plainName(s string) bool {
	return s != "" && !strings.ContainsAny(s, ".[]/ \"")
}

// HasPrefix reports whether p is prefix itself or lies below it.
func HasPrefix(p, prefix Path) bool {
	if len(p) < len(prefix) {
		return false
	}
	for i := range prefix {
		if !p[i].Equals(prefix[i]) {
			return false
		}
	}
	return true
}
