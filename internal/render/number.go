package render

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/model/object"
)

// checkNumbers refuses a whole number that 64 bits cannot hold in an object of Kubernetes' own kinds, whose numbers are integers of at most
// 64 bits: the API server would refuse it, without file and line. Schemas in CRDs and custom resources may have such numbers.
func checkNumbers(o object.Object, file string, n *yaml.Node) error {
	where := tooLarge(map[string]any(o), nil)
	if where == nil || !hasIntegers(o.GVK()) {
		return nil
	}
	line := n.Line
	for _, step := range where {
		next := childNode(n, step)
		if next == nil {
			break // a merge key has set it
		}
		n, line = next, next.Line
	}
	return &Error{File: file, Line: line, Err: numberError(o, where)}
}

// CheckNumbers is an error for a whole number that 64 bits cannot hold, in an object of Kubernetes' own kinds, whose numbers are integers.
func (o Object) CheckNumbers() error {
	where := tooLarge(map[string]any(o.Data), nil)
	if where == nil || !hasIntegers(o.Data.GVK()) {
		return nil
	}
	if o.File == "" {
		return numberError(o.Data, where)
	}
	return &Error{File: o.File, Line: o.Line, Err: numberError(o.Data, where)}
}

// childNode is the value of a map's key, or the item of a list.
func childNode(n *yaml.Node, step string) *yaml.Node {
	if i, err := strconv.Atoi(step); err == nil && n.Kind == yaml.SequenceNode && i < len(n.Content) {
		return FollowAlias(n.Content[i])
	}
	return FieldNode(n, step)
}

func numberError(o object.Object, where []string) error {
	return fmt.Errorf("%s: %s: %w", o.ID(), strings.Join(where, "."), errNumber)
}

var errNumber = errors.New("the number does not fit an integer of 64 bits")

// hasIntegers reports whether a kind is one of Kubernetes' own, without those that hold values of any form.
func hasIntegers(gvk object.GVK) bool {
	return object.IsBuiltIn(gvk.Group) && gvk.Group != "apiextensions.k8s.io" && gvk.Group != "resource.k8s.io"
}

// tooLarge is where the first such number stands; nil for nowhere.
func tooLarge(v any, at []string) []string {
	switch v := v.(type) {
	case float64:
		if v == math.Trunc(v) && math.Abs(v) >= 1<<63 {
			return at
		}
	case []any:
		for i, e := range v {
			if found := tooLarge(e, append(at[:len(at):len(at)], strconv.Itoa(i))); found != nil {
				return found
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if found := tooLarge(v[k], append(at[:len(at):len(at)], k)); found != nil {
				return found
			}
		}
	}
	return nil
}
