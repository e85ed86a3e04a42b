// Package selector answers: do these labels match a label selector of Kubernetes?
//
// In: a selector with matchLabels and matchExpressions, as JSON or YAML has it; labels.
// Out: whether they match; why the selector is none.
// Promise: pure, which the package labels of Kubernetes is not.
// Not here: selectors as text (app=web).
package selector

import (
	"fmt"
	"slices"
)

// Selector is a label selector (metav1.LabelSelector). The zero Selector matches everything.
type Selector []requirement

// requirement is one of a Selector's, all of which labels must meet.
type requirement struct {
	key      string
	operator operator
	values   []string
}

type operator string

const (
	in           operator = "In"
	notIn        operator = "NotIn"
	exists       operator = "Exists"
	doesNotExist operator = "DoesNotExist"
)

// ReadSelector reads a selector; nil matches everything. The error says what the API server would not take.
func ReadSelector(v any) (Selector, error) {
	m, is := v.(map[string]any)
	if v != nil && !is {
		return nil, fmt.Errorf("want matchLabels and matchExpressions, not %T", v)
	}
	var out Selector
	equal, _ := m["matchLabels"].(map[string]any)
	for key, value := range equal {
		text, is := value.(string)
		if !is {
			return nil, fmt.Errorf("matchLabels: %q: want a text, not %T", key, value)
		}
		out = append(out, requirement{key: key, operator: in, values: []string{text}})
	}
	list, _ := m["matchExpressions"].([]any)
	for _, e := range list {
		one, _ := e.(map[string]any)
		key, _ := one["key"].(string)
		word, _ := one["operator"].(string)
		values, _ := one["values"].([]any)
		r := requirement{key: key, operator: operator(word)}
		for _, v := range values {
			text, is := v.(string)
			if !is {
				return nil, fmt.Errorf("matchExpressions: %q: want texts as values, not %T", key, v)
			}
			r.values = append(r.values, text)
		}
		if !slices.Contains([]operator{in, notIn, exists, doesNotExist}, r.operator) || r.needsValues() != (len(values) > 0) || key == "" {
			return nil, fmt.Errorf("matchExpressions: %q: operator %q with %d values", key, word, len(values))
		}
		out = append(out, r)
	}
	return out, nil
}

func (r requirement) needsValues() bool { return r.operator == in || r.operator == notIn }

// Matches reports whether labels meet every requirement.
func (s Selector) Matches(labels map[string]string) bool {
	for _, r := range s {
		value, there := labels[r.key]
		met := false
		switch r.operator {
		case in:
			met = there && slices.Contains(r.values, value)
		case notIn:
			met = !there || !slices.Contains(r.values, value)
		case exists:
			met = there
		case doesNotExist:
			met = !there
		}
		if !met {
			return false
		}
	}
	return true
}
