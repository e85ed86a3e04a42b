package appset

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// selector is that of a generator: of labels, but any text can be a value.
type selector []requirement

type requirement struct {
	key, operator string
	values        []any
}

func selectorOf(v any) (selector, error) {
	var out selector
	for k, value := range mapValue(mapValue(v)["matchLabels"]) {
		out = append(out, requirement{k, "In", []any{value}})
	}
	for _, e := range listValue(mapValue(v)["matchExpressions"]) {
		one := mapValue(e)
		out = append(out, requirement{textValue(one["key"]), textValue(one["operator"]), listValue(one["values"])})
	}
	for _, r := range out {
		if errs := validation.IsQualifiedName(r.key); len(errs) > 0 {
			return nil, fmt.Errorf("the selector of a generator: key %q: %s", r.key, strings.Join(errs, "; "))
		}
		exists := r.operator == "Exists" || r.operator == "DoesNotExist"
		if !exists && r.operator != "In" && r.operator != "NotIn" || exists == (len(r.values) > 0) {
			return nil, fmt.Errorf("the selector of a generator: %s: operator %q with %d values", r.key, r.operator, len(r.values))
		}
	}
	return out, nil
}

func (s selector) matches(p map[string]string) bool {
	for _, r := range s {
		value, there := p[r.key]
		in := there && slices.Contains(r.values, any(value))
		if r.operator == "In" && !in || r.operator == "NotIn" && in || r.operator == "Exists" && !there || r.operator == "DoesNotExist" && there {
			return false
		}
	}
	return true
}
