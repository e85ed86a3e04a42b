package mutation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/truce-gitops/truce/internal/decide/mutation"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func TestWhatMatches(t *testing.T) {
	const hook = "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: c}, webhooks: [{name: w"
	const rules = ", rules: [{apiGroups: [apps], operations: [CREATE, UPDATE], resources: [deployments]}]"
	const binding = "{kind: MutatingAdmissionPolicyBinding, apiVersion: admissionregistration.k8s.io/v1, spec: {policyName: p"
	const policy = "{kind: MutatingAdmissionPolicy, apiVersion: admissionregistration.k8s.io/v1, metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: ['*'], operations: ['*'], resources: ['*']}]"
	for name, c := range map[string]struct {
		reason string
		text   []string
		want   []string
	}{
		"a rule":                 {"group, resource and operation match", []string{hook + rules + "}]}"}, []string{"MutatingWebhookConfiguration c"}},
		"another resource":       {"a subresource is no write of the object", []string{hook + ", rules: [{apiGroups: [apps], operations: ['*'], resources: [deployments/scale]}]}]}"}, nil},
		"deletes only":           {"a webhook for DELETE changes nothing", []string{hook + ", rules: [{apiGroups: [apps], operations: [DELETE], resources: ['*']}]}]}"}, nil},
		"cluster scope":          {"the scope narrows", []string{hook + ", rules: [{apiGroups: ['*'], operations: ['*'], resources: ['*/*'], scope: Cluster}]}]}"}, nil},
		"this namespace":         {"labels of the namespace", []string{hook + rules + ", namespaceSelector: {matchLabels: {env: prod}}}]}"}, []string{"MutatingWebhookConfiguration c"}},
		"another namespace":      {"labels of the namespace", []string{hook + rules + ", namespaceSelector: {matchExpressions: [{key: env, operator: NotIn, values: [prod]}]}}]}"}, nil},
		"another object":         {"labels of the object", []string{hook + rules + ", objectSelector: {matchExpressions: [{key: app, operator: DoesNotExist}]}}]}"}, nil},
		"a policy":               {"a policy needs a binding", []string{policy + "}}}"}, nil},
		"a bound policy":         {"a binding puts it in force", []string{policy + "}}}", binding + "}}"}, []string{"MutatingAdmissionPolicy p"}},
		"a policy bound there":   {"a binding may narrow it", []string{policy + "}}}", binding + ", matchResources: {objectSelector: {matchLabels: {app: other}}}}}"}, nil},
		"a policy that excludes": {"an excluded resource", []string{policy + ", excludeResourceRules: [{apiGroups: [apps], operations: ['*'], resources: [deployments]}]}}}", binding + "}}"}, nil},
		"another group":          {"the group counts", []string{hook + ", rules: [{apiGroups: [batch], operations: ['*'], resources: ['*']}]}]}"}, nil},
		"another name":           {"a rule may name objects", []string{hook + ", rules: [{apiGroups: [apps], operations: ['*'], resources: ['*'], resourceNames: [api]}]}]}"}, nil},
		"this name":              {"a rule may name objects", []string{hook + ", rules: [{apiGroups: [apps], operations: ['*'], resources: ['*'], resourceNames: [api, web]}]}]}"}, []string{"MutatingWebhookConfiguration c"}},
		"namespaced":             {"the scope lets it through", []string{hook + ", rules: [{apiGroups: [apps], operations: ['*'], resources: ['*'], scope: Namespaced}]}]}"}, []string{"MutatingWebhookConfiguration c"}},
		"in":                     {"a value of the list", []string{hook + rules + ", objectSelector: {matchExpressions: [{key: app, operator: In, values: [api]}]}}]}"}, nil},
		"not among":              {"no value of the list, or no label", []string{hook + rules + ", objectSelector: {matchExpressions: [{key: app, operator: NotIn, values: [api]}, {key: tier, operator: NotIn, values: [a]}]}}]}"}, []string{"MutatingWebhookConfiguration c"}},
		"no such label":          {"the label must be there", []string{hook + rules + ", objectSelector: {matchExpressions: [{key: tier, operator: Exists}]}}]}"}, nil},
		"a label of no text":     {"an absent label is not an empty one", []string{hook + rules + ", objectSelector: {matchLabels: {tier: ''}}}]}"}, nil},
		"an expression":          {"conditions are not evaluated: it may match", []string{hook + rules + ", matchConditions: [{name: never, expression: 'false'}]}]}"}, []string{"MutatingWebhookConfiguration c?"}},
		"a policy's expression":  {"conditions are not evaluated: it may match", []string{policy + "}, matchConditions: [{name: never, expression: 'false'}]}}", binding + "}}"}, []string{"MutatingAdmissionPolicy p?"}},
		"no expression":          {"an empty list is no condition", []string{hook + rules + ", matchConditions: []}]}"}, []string{"MutatingWebhookConfiguration c"}},
		"another policy's":       {"a binding is of one policy", []string{policy + "}}}", strings.Replace(binding, "policyName: p", "policyName: q", 1) + "}}"}, nil},
		"bound to others":        {"a binding may narrow the resources", []string{policy + "}}}", binding + ", matchResources: {resourceRules: [{apiGroups: [''], operations: ['*'], resources: ['*']}]}}}"}, nil},
		"bound to it":            {"a binding may narrow the resources", []string{policy + "}}}", binding + ", matchResources: {resourceRules: [{apiGroups: [apps], operations: ['*'], resources: ['*']}], objectSelector: {matchLabels: {app: web}}}}}"}, []string{"MutatingAdmissionPolicy p"}},
		"bound but for it":       {"a binding may exclude resources", []string{policy + "}}}", binding + ", matchResources: {excludeResourceRules: [{apiGroups: [apps], operations: ['*'], resources: [deployments]}]}}}"}, nil},
		"no binding":             {"what only looks like a binding binds nothing", []string{policy + "}}}", strings.Replace(binding, "PolicyBinding", "Other", 1) + "}}"}, nil},
		"nonsense":               {"what has another shape matches nothing", []string{"{apiVersion: v1, kind: MutatingWebhookConfiguration, webhooks: 7}", "{apiVersion: v1, kind: MutatingAdmissionPolicy, spec: []}"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var all []object.Object
			for _, text := range c.text {
				all = append(all, given.Object(t, text))
			}
			s := mutation.Subject{
				Group: "apps", Resource: "deployments", Namespaced: true, Namespace: map[string]string{"env": "prod"},
				Object: given.Object(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: web}}}"),
			}
			var got []string
			for _, m := range mutation.MatchingMutators(all, s) {
				name := m.String()
				if m.Conditional {
					name += "?"
				}
				got = append(got, name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestConditionsLeaveAWholeObjectOut, if they are false of it for any user; of a part of one they are not judged.
func TestConditionsLeaveAWholeObjectOut(t *testing.T) {
	const web = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: web}}, spec: {replicas: 3}}"
	for expressions, want := range map[string]bool{
		`false`: false, `true`: true, `"inject" in object.metadata.labels`: false, `object.spec.replicas == 3`: true,
		`request.userInfo.username == "jane"`: true, `request.resource.resource == "pods"`: false, `request.namespace == "shop"`: true,
		`request.operation == "DELETE"`: false, `request.operation == "UPDATE" && oldObject.spec != object.spec`: true,
		`request.userInfo.username == "jane"; "inject" in object.metadata.labels`: false, // both must be true
		`object.spec.none`: true, `no expression (`: true, `quantity("1").isGreaterThan(quantity("2"))`: true,
	} {
		var conditions []any
		for text := range strings.SplitSeq(expressions, "; ") {
			conditions = append(conditions, map[string]any{"name": "c", "expression": text})
		}
		rule := map[string]any{"apiGroups": []any{"apps"}, "operations": []any{"CREATE", "UPDATE"}, "resources": []any{"deployments"}}
		hook := object.Object{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": mutation.WebhookConfiguration, "metadata": map[string]any{"name": "c"},
			"webhooks": []any{map[string]any{"name": "w", "rules": []any{rule}, "matchConditions": conditions}},
		}
		policy := object.Object{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": mutation.Policy, "metadata": map[string]any{"name": "p"},
			"spec": map[string]any{"matchConstraints": map[string]any{"resourceRules": []any{rule}}, "matchConditions": conditions},
		}
		binding := object.Object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": mutation.PolicyBinding, "spec": map[string]any{"policyName": "p"}}
		for _, whole := range []bool{true, false} {
			s := mutation.Subject{Group: "apps", Resource: "deployments", Namespaced: true, Object: given.Object(t, web), Whole: whole}
			if got := len(mutation.MatchingMutators([]object.Object{hook, policy, binding}, s)); got != map[bool]int{true: 2}[want || !whole] {
				t.Errorf("%s: %d match, of a whole object: %v, want that they match: %v", expressions, got, whole, want)
			}
		}
	}
}

// TestANamespaceIsItsOwnNamespace is what webhooks choose namespaces by: their own labels. Labels that are not known may match.
func TestANamespaceIsItsOwnNamespace(t *testing.T) {
	all := []object.Object{given.Object(t, "{apiVersion: v1, kind: MutatingWebhookConfiguration, metadata: {name: c}, webhooks: [{name: w, namespaceSelector: {matchLabels: {env: prod}}, rules: [{apiGroups: ['*'], operations: ['*'], resources: ['*']}]}]}")}
	prod := given.Object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: prod}}}")
	dev := map[string]string{"env": "dev"}
	for name, c := range map[string]struct {
		s    mutation.Subject
		want int
	}{
		"a namespace":              {mutation.Subject{Resource: "namespaces", Object: prod, Namespace: dev}, 1},
		"a namespace without":      {mutation.Subject{Resource: "namespaces", Object: object.Object{}}, 0},
		"something else":           {mutation.Subject{Resource: "pods", Object: prod, Namespace: dev, Namespaced: true}, 0},
		"another group":            {mutation.Subject{Group: "x.y", Resource: "namespaces", Object: prod, Namespace: dev}, 0},
		"a namespace of no labels": {mutation.Subject{Resource: "pods", Object: prod, Namespace: map[string]string{}, Namespaced: true}, 0},
		"an unknown namespace":     {mutation.Subject{Resource: "pods", Object: object.Object{}, Namespaced: true}, 1},
	} {
		if got := mutation.MatchingMutators(all, c.s); len(got) != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestLabelsOfOthersAreSeenBySelectors(t *testing.T) {
	git := given.Object(t, "{kind: ConfigMap, metadata: {labels: {app: web}}}")
	live := given.Object(t, "{kind: ConfigMap, metadata: {labels: {app: changed, inject: 'yes'}}}")
	if diff := cmp.Diff(map[string]string{"app": "web", "inject": "yes"}, mutation.Written(git, live).Labels()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"app": "web"}, git.Labels()); diff != "" {
		t.Errorf("Git's object was changed (-want +got):\n%s", diff)
	}
	if got := mutation.Written(given.Object(t, "{kind: ConfigMap}"), nil); got["metadata"] != nil {
		t.Errorf("nothing was added: %v", got)
	}
}

func TestAWebhookIsKnownByBothItsNames(t *testing.T) {
	all := []mutation.Mutator{{Kind: mutation.WebhookConfiguration, Name: "istio", Webhook: "inject.istio.io"}, {Kind: mutation.Policy, Name: "team"}}
	if diff := cmp.Diff([]string{"istio", "inject.istio.io", "team"}, mutation.MutatorNames(all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEachKindOfConfigurationIsRead(t *testing.T) {
	var got []string
	for _, k := range mutation.ConfigurationKinds() {
		got = append(got, k.Kind+" "+k.Version)
	}
	want := []string{
		"MutatingWebhookConfiguration v1", "MutatingAdmissionPolicy v1", "MutatingAdmissionPolicyBinding v1",
		"MutatingAdmissionPolicy v1beta1", "MutatingAdmissionPolicyBinding v1beta1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThePolicyThatNamesAField(t *testing.T) {
	config := func(name, expression string) object.Object {
		return given.Object(t, "{apiVersion: v1, kind: MutatingAdmissionPolicy, metadata: {name: "+name+"}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], operations: ['*'], resources: ['*']}]}, mutations: [{applyConfiguration: {expression: '"+expression+"'}}]}}")
	}
	bound := func(name string) object.Object {
		return given.Object(t, "{apiVersion: v1, kind: MutatingAdmissionPolicyBinding, spec: {policyName: "+name+"}}")
	}
	all := mutation.MatchingMutators([]object.Object{config("a", "Object{spec: 1}"), config("b", `Object{metadata: {"team": "x"}}`), bound("a"), bound("b")},
		mutation.Subject{Resource: "configmaps", Object: object.Object{}, Namespaced: true})
	if got := mutation.MutatorsNaming(all, field.NewPath("metadata", "labels", "team")); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("the policy whose expression names the field is suspected, not %v", got)
	}
	hook := append([]mutation.Mutator{{Kind: mutation.WebhookConfiguration, Name: "w"}}, all...)
	if got := mutation.MutatorsNaming(hook, field.NewPath("metadata", "labels", "team")); len(got) != 2 || got[0].Name != "w" {
		t.Errorf("nothing says what a webhook changes, so that it stays suspected: %v", got)
	}
	if got := mutation.MutatorsNaming(all, field.NewPath("data", "other")); len(got) != 2 {
		t.Errorf("where no expression names the field each policy is suspected, not %v", got)
	}
}

func FuzzOf(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"MutatingWebhookConfiguration","webhooks":[{"rules":[{"apiGroups":[""],"resources":["*"],"operations":["*"]}]}]}`)
	f.Fuzz(func(_ *testing.T, text string) {
		var o map[string]any
		if utiljson.Unmarshal([]byte(text), &o) == nil {
			mutation.MatchingMutators([]object.Object{o}, mutation.Subject{Resource: "pods", Object: object.Object{}})
		}
	})
}
