package kustomize

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/truce-gitops/truce/internal/render"
)

// fieldPair is a field of a map and its value.
type fieldPair struct{ key, value *yaml.Node }

// fieldPairs returns the fields of a map, those of its merge keys among them. Which of two equal ones wins is Kustomize's to decide: both are
// checked. Documents that refer to themselves do not get this far (render.DecodeValue).
func fieldPairs(n *yaml.Node) []fieldPair {
	n = render.FollowAlias(n)
	if n == nil {
		return nil
	}
	var all []fieldPair
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, value := render.FollowAlias(n.Content[i]), render.FollowAlias(n.Content[i+1])
			if key.ShortTag() == "!!merge" {
				all = append(all, fieldPairs(value)...)
				continue
			}
			all = append(all, fieldPair{key, value})
		}
	case yaml.SequenceNode: // of a merge key
		for _, e := range n.Content {
			all = append(all, fieldPairs(e)...)
		}
	default: // a scalar has no fields
	}
	return all
}

// fieldValues returns the values that an entry has for a field. Kustomize decodes with encoding/json, which ignores case.
func fieldValues(n *yaml.Node, name string) []*yaml.Node {
	var all []*yaml.Node
	for _, f := range fieldPairs(n) {
		if strings.EqualFold(f.key.Value, name) {
			all = append(all, f.value)
		}
	}
	return all
}

// documentedFields returns a kustomization with its fields under the names that the documentation has, and those of its merge keys among them.
// Of two fields whose names differ in case alone Kustomize would keep one: that is an error.
func documentedFields(file string, top *yaml.Node) (*yaml.Node, error) {
	if top.Kind != yaml.MappingNode {
		return top, nil
	}
	if err := refuseAlike(file, top); err != nil {
		return nil, err
	}
	names := fieldNames()
	out := *top
	out.Content = nil
	for _, f := range fieldPairs(top) {
		key := *f.key
		if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, key.Value) }); i >= 0 {
			key.Value = names[i]
		}
		out.Content = append(out.Content, &key, f.value)
	}
	return &out, nil
}

func refuseAlike(file string, top *yaml.Node) error {
	for i := 2; i+1 < len(top.Content); i += 2 {
		for j := 0; j < i; j += 2 {
			key, first := top.Content[i], top.Content[j]
			if strings.EqualFold(key.Value, first.Value) {
				return &render.Error{File: file, Line: key.Line, Err: fmt.Errorf("key %q is already set at line %d, as %q", key.Value, first.Line, first.Value)}
			}
		}
	}
	return nil
}

// fieldNames are the fields of a kustomization.
func fieldNames() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[types.Kustomization]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// yamlFields checks the fields of an entry that are YAML files, or documents in place.
func (s *inputCheck) yamlFields(v visit, n *yaml.Node, names ...string) error {
	var all []error
	for _, name := range names {
		for _, value := range fieldValues(n, name) {
			all = append(all, s.yaml(v, value))
		}
	}
	return errors.Join(all...)
}
