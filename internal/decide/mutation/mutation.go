// Package mutation answers: which mutating admission may have changed an object, by its configuration?
//
// In: the cluster's MutatingWebhookConfigurations, MutatingAdmissionPolicies and their bindings, and an object.
// Out: Mutators: the webhooks and policies whose rules and selectors match the object.
// Promise: pure; what a configuration leaves to an expression (matchConditions) may match, unless the object is whole and the expression is false
// of it for any user. A match is no proof: the API server records
// nowhere which mutator changed a field.
// Not here: finding out that a field was changed (compare), reading the configurations (reconcile).
package mutation

import (
	"slices"
	"strings"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/selector"
)

// Group is the API group of all configurations of admission.
const Group = "admissionregistration.k8s.io"

// The kinds of configuration.
const (
	WebhookConfiguration = "MutatingWebhookConfiguration"
	Policy               = "MutatingAdmissionPolicy"
	PolicyBinding        = "MutatingAdmissionPolicyBinding"
)

// ConfigurationKinds are the kinds of configuration, each at the versions at which it is read, the best first.
func ConfigurationKinds() []object.GVK {
	var out []object.GVK
	for _, k := range []string{WebhookConfiguration, Policy, PolicyBinding} {
		out = append(out, object.GVK{Group: Group, Version: "v1", Kind: k})
	}
	for _, k := range []string{Policy, PolicyBinding} {
		out = append(out, object.GVK{Group: Group, Version: "v1beta1", Kind: k})
	}
	return out
}

// Mutator is one webhook or policy.
type Mutator struct {
	Kind    string // of its configuration
	Name    string // of its configuration
	Webhook string // of a webhook: its own name
	// Conditional says that it has matchConditions, expressions that are not known to be true: it may leave out an object that it matches.
	Conditional bool
	text        string // of a policy: its expressions
}

// Mutators is what is known of the mutating admission that may change an object.
type Mutators struct {
	All    []Mutator // that match the object
	Unread string    // why the configurations were not read; empty where they were
}

// String names the mutator as kubectl finds it: "MutatingAdmissionPolicy team".
func (m Mutator) String() string { return m.Kind + " " + m.Name }

// Subject is an object that is applied.
type Subject struct {
	Resource   string // the plural of its kind, as rules name it
	Group      string
	Object     object.Object
	Namespace  map[string]string // labels of its namespace; nil where they are not known, or it has none
	Namespaced bool
	// Whole says that Object is as the server has it, so that matchConditions can be judged on it; what is applied is a part.
	Whole bool
}

// MatchingMutators returns the mutators that match the subject, in the order of the configurations.
func MatchingMutators(configurations []object.Object, s Subject) []Mutator {
	var out []Mutator
	for _, c := range configurations {
		switch c.GVK().Kind {
		case WebhookConfiguration:
			out = append(out, s.webhooks(c)...)
		case Policy:
			conditions := c.At("spec", "matchConditions")
			if s.matches(mapField(c, "spec", "matchConstraints"), "resourceRules") && s.bound(configurations, c.Name()) && !s.leftOutBy(conditions) {
				out = append(out, Mutator{Kind: Policy, Name: c.Name(), Conditional: conditional(conditions), text: expressions(c)})
			}
		}
	}
	return out
}

func (s Subject) webhooks(c object.Object) []Mutator {
	var out []Mutator
	hooks, _ := c["webhooks"].([]any)
	for _, h := range hooks {
		hook, _ := h.(map[string]any)
		if s.matches(hook, "rules") && !s.leftOutBy(hook["matchConditions"]) {
			name, _ := hook["name"].(string)
			out = append(out, Mutator{Kind: WebhookConfiguration, Name: c.Name(), Webhook: name, Conditional: conditional(hook["matchConditions"])})
		}
	}
	return out
}

// conditional reports whether there are matchConditions.
func conditional(matchConditions any) bool {
	list, _ := matchConditions.([]any)
	return len(list) > 0
}

// MutatorsNaming returns those of the mutators that may be the ones that change a field: of the policies those whose expressions name it, where
// any of them does.
func MutatorsNaming(all []Mutator, p field.Path) []Mutator {
	name := ""
	for _, e := range p {
		if e.FieldName != nil {
			name = *e.FieldName
		}
	}
	naming := slices.DeleteFunc(slices.Clone(all), func(m Mutator) bool { return m.Kind == Policy && !strings.Contains(m.text, name) })
	if len(naming) == 0 {
		return all
	}
	return naming
}

// MutatorNames are the names by which people and catalogues know the mutators: of the configurations and of the webhooks.
func MutatorNames(all []Mutator) []string {
	var out []string
	for _, m := range all {
		out = append(out, m.Name)
		if m.Webhook != "" {
			out = append(out, m.Webhook)
		}
	}
	return out
}

// bound reports whether a binding puts the policy in force for the subject.
func (s Subject) bound(configurations []object.Object, policy string) bool {
	return slices.ContainsFunc(configurations, func(c object.Object) bool {
		if c.GVK().Kind != PolicyBinding || c.At("spec", "policyName") != policy {
			return false
		}
		narrowed := mapField(c, "spec", "matchResources")
		return narrowed == nil || s.selected(narrowed) && (narrowed["resourceRules"] == nil || s.ruled(narrowed, "resourceRules")) &&
			!s.ruled(narrowed, "excludeResourceRules")
	})
}

func (s Subject) matches(m map[string]any, rules string) bool {
	return m != nil && s.ruled(m, rules) && s.selected(m) && !s.ruled(m, "excludeResourceRules")
}

func (s Subject) ruled(m map[string]any, key string) bool {
	rules, _ := m[key].([]any)
	return slices.ContainsFunc(rules, func(r any) bool {
		rule, _ := r.(map[string]any)
		return listHasAny(rule, "apiGroups", "*", s.Group) && listHasAny(rule, "resources", "*", "*/*", s.Resource, s.Resource+"/*") &&
			listHasAny(rule, "operations", "*", "CREATE", "UPDATE") && s.scoped(rule["scope"]) &&
			(rule["resourceNames"] == nil || listHasAny(rule, "resourceNames", s.Object.Name()))
	})
}

func (s Subject) scoped(scope any) bool {
	switch scope {
	case "Cluster":
		return !s.Namespaced
	case "Namespaced":
		return s.Namespaced
	}
	return true
}

// selected reports whether the selectors let the subject through. Labels of a namespace that are not known may match.
func (s Subject) selected(m map[string]any) bool {
	namespace := s.Namespace
	if s.Group == "" && s.Resource == "namespaces" {
		namespace = s.Object.Labels()
	}
	return (namespace == nil || selects(m["namespaceSelector"], namespace)) && selects(m["objectSelector"], s.Object.Labels())
}

// selects reports whether a label selector matches. No selector matches everything; one that the API server would not take may match.
func selects(v any, of map[string]string) bool {
	s, err := selector.ReadSelector(v)
	return err != nil || s.Matches(of)
}

// Written returns what admission is asked to admit when Git's object is applied to the live one, as far as selectors read it: with the labels
// of others.
func Written(git, live object.Object) object.Object {
	labels := map[string]any{}
	for _, o := range []object.Object{live, git} {
		for k, v := range o.Labels() {
			labels[k] = v
		}
	}
	out := git.Clone()
	if len(labels) > 0 {
		field.SetValue(out, field.NewPath("metadata", "labels"), labels)
	}
	return out
}

func listHasAny(rule map[string]any, key string, values ...string) bool {
	list, _ := rule[key].([]any)
	return slices.ContainsFunc(list, func(v any) bool {
		text, ok := v.(string)
		return ok && slices.Contains(values, text)
	})
}

// expressions is the text of a policy's mutations.
func expressions(policy object.Object) string {
	var b strings.Builder
	list, _ := policy.At("spec", "mutations").([]any)
	for _, m := range list {
		for _, form := range []string{"applyConfiguration", "jsonPatch"} {
			text, _ := object.Object{"m": m}.At("m", form, "expression").(string)
			b.WriteString(text)
		}
	}
	return b.String()
}

func mapField(o object.Object, at ...string) map[string]any {
	m, _ := o.At(at...).(map[string]any)
	return m
}
