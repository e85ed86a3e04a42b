package mutation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/mutation"
	"github.com/truce-gitops/truce/internal/object"
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
		"nonsense":               {"what has another shape matches nothing", []string{"{apiVersion: v1, kind: MutatingWebhookConfiguration, webhooks: 7}", "{apiVersion: v1, kind: MutatingAdmissionPolicy, spec: []}"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var all []object.Object
			for _, text := range c.text {
				all = append(all, parse(t, text))
			}
			s := mutation.Subject{
				Group: "apps", Resource: "deployments", Namespaced: true, Namespace: map[string]string{"env": "prod"},
				Object: parse(t, "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop, labels: {app: web}}}"),
			}
			var got []string
			for _, m := range mutation.Of(all, s) {
				got = append(got, m.String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestThePolicyThatNamesAField(t *testing.T) {
	config := func(name, expression string) object.Object {
		return parse(t, "{apiVersion: v1, kind: MutatingAdmissionPolicy, metadata: {name: "+name+"}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], operations: ['*'], resources: ['*']}]}, mutations: [{applyConfiguration: {expression: '"+expression+"'}}]}}")
	}
	bound := func(name string) object.Object {
		return parse(t, "{apiVersion: v1, kind: MutatingAdmissionPolicyBinding, spec: {policyName: "+name+"}}")
	}
	all := mutation.Of([]object.Object{config("a", "Object{spec: 1}"), config("b", `Object{metadata: {"team": "x"}}`), bound("a"), bound("b")},
		mutation.Subject{Resource: "configmaps", Object: object.Object{}, Namespaced: true})
	if got := mutation.Naming(all, field.Name("metadata", "labels", "team")); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("the policy whose expression names the field is suspected, not %v", got)
	}
	if got := mutation.Naming(all, field.Name("data", "other")); len(got) != 2 {
		t.Errorf("where no expression names the field each policy is suspected, not %v", got)
	}
}

func FuzzOf(f *testing.F) {
	f.Add(`{"apiVersion":"v1","kind":"MutatingWebhookConfiguration","webhooks":[{"rules":[{"apiGroups":[""],"resources":["*"],"operations":["*"]}]}]}`)
	f.Fuzz(func(_ *testing.T, text string) {
		var o map[string]any
		if utiljson.Unmarshal([]byte(text), &o) == nil {
			mutation.Of([]object.Object{o}, mutation.Subject{Resource: "pods", Object: object.Object{}})
		}
	})
}

func parse(t *testing.T, text string) object.Object {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o map[string]any
	if err := utiljson.Unmarshal(raw, &o); err != nil {
		t.Fatal(err)
	}
	return o
}
