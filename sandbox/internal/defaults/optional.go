package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

const optionalHead = "# Made by go generate ./internal/model/schema from the types of k8s.io/kubernetes. Do not edit. A line: a field that is an optional record in every type that has it.\n"

// shape is what a field is that JSON writes as a map.
type shape string

const (
	pointer shape = "pointer" // to a record: there is a difference between none and an empty one
	plain   shape = "plain"   // a record, or a map: there is none
)

// shapes are those of the fields of all types, by name.
type shapes map[string]map[shape]bool

// optionalRecords are the names of fields that are pointers to records in every type, sorted.
func optionalRecords() string {
	found, seen := shapes{}, map[reflect.Type]bool{}
	for gvk, t := range legacyscheme.Scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal && !strings.HasSuffix(gvk.Kind, "List") {
			found.add(t, seen)
		}
	}
	maps.DeleteFunc(found, func(_ string, s map[shape]bool) bool { return s[plain] || !s[pointer] })
	return optionalHead + strings.Join(slices.Sorted(maps.Keys(found)), "\n") + "\n"
}

// add takes down the fields of a type and of all types in it.
func (s shapes) add(t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || isScalar(t) || seen[t] {
		return
	}
	seen[t] = true
	for f := range fieldsOf(t) {
		s.add(f.Type, seen)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if of := shapeOf(f.Type); of != "" && name != "" && !strings.Contains(options, "inline") {
			if s[name] == nil {
				s[name] = map[shape]bool{}
			}
			s[name][of] = true
		}
	}
}

// fieldsOf are the fields that users may name.
func fieldsOf(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() || f.Name == "Status" || strings.HasPrefix(f.Tag.Get("json"), "-") {
				continue
			}
			if !yield(f) {
				return
			}
		}
	}
}

// shapeOf is what a field of a type is; empty for what JSON does not write as a map.
func shapeOf(t reflect.Type) shape {
	isRecord := func(t reflect.Type) bool { return t.Kind() == reflect.Struct && !isScalar(t) }
	switch {
	case t.Kind() == reflect.Pointer && isRecord(t.Elem()):
		return pointer
	case isRecord(t), t.Kind() == reflect.Map:
		return plain
	}
	return ""
}
