package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// labels are those of an object. Package labels of Kubernetes reaches the network.
type labels map[string]string

// String prints labels as selectors do: app=web,tier=front.
func (l labels) String() string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(l)) {
		out = append(out, k+"="+l[k])
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ",")
}

// selector is a selector of pods.
type selector struct {
	path  field.Path
	own   bool // of the pods of the workload's own template
	wants labels
	terms []term
}

// term is one of matchExpressions.
type term struct {
	key, operator string
	values        []string
}

// String prints what the selector asks for.
func (s selector) String() string {
	var out []string
	if len(s.wants) > 0 {
		out = append(out, s.wants.String())
	}
	for _, t := range s.terms {
		out = append(out, strings.TrimSuffix(fmt.Sprintf("%s %s (%s)", t.key, t.operator, strings.Join(t.values, ",")), " ()"))
	}
	return strings.Join(out, ",")
}

// matches reports whether labels are as the selector asks.
func (s selector) matches(l labels) bool {
	for k, v := range s.wants {
		if got, there := l[k]; !there || got != v {
			return false
		}
	}
	return !slices.ContainsFunc(s.terms, func(t term) bool { return !t.holds(l) })
}

// holds reports whether the term does (labels.Requirement.Matches).
func (t term) holds(l labels) bool {
	v, there := l[t.key]
	switch t.operator {
	case "In":
		return there && slices.Contains(t.values, v)
	case "NotIn":
		return !there || !slices.Contains(t.values, v)
	case "Exists":
		return there
	}
	return !there // DoesNotExist
}

// plainSelector reads a selector that is a map of labels.
func plainSelector(o desired.Object, s selector) []selector {
	v, _ := field.ValueAt(o.Data, s.path)
	s.wants = textValues(v)
	return s.asking()
}

// labelSelector reads one with matchLabels and matchExpressions.
func labelSelector(o desired.Object, s selector) []selector {
	v, _ := field.ValueAt(o.Data, s.path)
	m, _ := v.(map[string]any)
	s.wants = textValues(m["matchLabels"])
	list, _ := m["matchExpressions"].([]any)
	for _, v := range list {
		e, _ := v.(map[string]any)
		t := term{}
		t.key, _ = e["key"].(string)
		t.operator, _ = e["operator"].(string)
		values, _ := e["values"].([]any)
		for _, v := range values {
			t.values = append(t.values, fmt.Sprint(v))
		}
		if !slices.Contains([]string{"In", "NotIn", "Exists", "DoesNotExist"}, t.operator) {
			return nil // none to the server, which says so
		}
		s.terms = append(s.terms, t)
	}
	return s.asking()
}

// asking is the selector without what no template says; none where it asks for nothing.
func (s selector) asking() []selector {
	maps.DeleteFunc(s.wants, func(k, _ string) bool { return isAdded(k) })
	s.terms = slices.DeleteFunc(s.terms, func(t term) bool { return isAdded(t.key) })
	if len(s.wants)+len(s.terms) == 0 {
		return nil
	}
	return []selector{s}
}

// addedLabels are put on pods by their controllers, not by templates; a prefix ends in a slash.
var addedLabels = []string{
	// Vault, Patroni and its operators say which pod leads.
	"vault-active", "vault-initialized", "vault-perf-standby", "vault-sealed", "spilo-role", "role", "cnpg.io/", "postgres-operator.crunchydata.com/",
	"apps.kubernetes.io/", "batch.kubernetes.io/", "statefulset.kubernetes.io/", "controller-revision-hash", "controller-uid", "job-name",
	"pod-template-generation", "pod-template-hash", "rollouts-pod-template-hash",
}

func isAdded(label string) bool {
	return slices.ContainsFunc(addedLabels, func(a string) bool { return a == label || strings.HasSuffix(a, "/") && strings.HasPrefix(label, a) })
}

// textValues are the texts of a map.
func textValues(v any) labels {
	m, _ := v.(map[string]any)
	out := labels{}
	for k, v := range m {
		if text, ok := v.(string); ok {
			out[k] = text
		}
	}
	return out
}
