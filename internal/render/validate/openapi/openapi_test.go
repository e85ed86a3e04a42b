package openapi_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/cluster/live/list"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/validate"
	"github.com/truce-gitops/truce/internal/render/validate/openapi"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/client-go/discovery"
)

func TestMain(m *testing.M) { kubetest.Main(m) }

func schemas(t *testing.T) (*kubetest.Cluster, *cluster.Client, *openapi.Schemas) {
	t.Helper()
	k := kubetest.Start(t)
	c, err := cluster.NewClient(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	return k, c, &openapi.Schemas{Cluster: c}
}

func problems(t *testing.T, s *openapi.Schemas, o object.Object) []string {
	t.Helper()
	schema, err := s.Schema(t.Context(), o.GVK())
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, p := range validate.ValidateObject(schema, o) {
		out = append(out, p.String())
	}
	return out
}

// published waits for the schema of a custom resource: the server prints it some time after the CRD is established.
func published(t *testing.T, s *openapi.Schemas, gvk object.GVK) {
	t.Helper()
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(time.Minute)
	for {
		_, err := s.Schema(t.Context(), gvk)
		if err == nil {
			return
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.validate.example.org}
spec:
  group: validate.example.org
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            required: [size, mode]
            properties:
              size: {type: integer, minimum: 1, maximum: 5}
              mode: {type: string, enum: [fast, safe], default: safe}
              name: {type: string, pattern: "^[a-z]+$", maxLength: 5}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              pod: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object, properties: {a: {type: string}}}}}
              tags: {type: object, additionalProperties: {type: integer}}
              list: {type: array, maxItems: 2, items: {type: object, required: [k], properties: {k: {type: string}, v: {type: boolean, nullable: true}}}}
              when: {type: string, format: date-time}
              either: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
`

func TestWhatTheServerWouldRefuseIsAProblem(t *testing.T) {
	k, _, s := schemas(t)
	k.Apply(t, crd)
	k.Established(t, "widgets.validate.example.org")
	published(t, s, given.Object(t, "{apiVersion: validate.example.org/v1, kind: Widget}").GVK())
	deployment := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [%s]}}%s}}`
	widget := "{apiVersion: validate.example.org/v1, kind: Widget, metadata: {name: a}, spec: {%s}}"
	const container = "spec.template.spec.containers[0]"
	for _, c := range []struct {
		text string
		want []string
	}{
		{fmt.Sprintf(deployment, "{name: c, image: x, resources: {limits: {cpu: 1, memory: 1Gi}}, ports: [{containerPort: 80}]}", ", replicas: 2, strategy: {rollingUpdate: {maxSurge: 25%%}}"), nil},
		{fmt.Sprintf(deployment, "{name: c, imag: x}", ""), []string{container + ".imag: is no field of this kind"}},
		{fmt.Sprintf(deployment, "{name: c, Image: x}", ""), []string{container + ".Image: is no field of this kind; there is image"}},
		{fmt.Sprintf(deployment, "{image: x}", ", replicas: two"), []string{"spec.replicas: must be of type integer", container + ".name: is required"}},
		{fmt.Sprintf(deployment, "{name: c, imagePullPolicy: Sometimes}", ""), []string{container + `.imagePullPolicy: should be one of [Always IfNotPresent Never]`}},
		{fmt.Sprintf(deployment, "{name: c, resources: {limits: {cpu: much, memory: [1]}}}", ""), []string{
			container + ".resources.limits.cpu: must be a quantity, such as 500m or 2Gi", container + ".resources.limits.memory: must be a quantity, not a list"}},
		{fmt.Sprintf(deployment, "{name: c, env: {A: b}}", ""), []string{container + ".env: must be of type array"}},
		{fmt.Sprintf(deployment, "{name: c}", ", strategy: {rollingUpdate: {maxSurge: 1.5}}"), []string{"spec.strategy.rollingUpdate.maxSurge: must be a whole number or a string"}},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {}, data: {a: 1, b: true}}", []string{"data.a: must be of type string", "data.b: must be of type string", "metadata.name: is required"}},
		{"{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: [hunter2]}, stringData: {x: 5}}", []string{"data.password: must be of type string", "stringData.x: must be of type string"}},
		{fmt.Sprintf(widget, "size: 3, port: http, any: {x: [1]}, tags: {a: 1}, list: [{k: a, v: null}], when: '2026-01-01T00:00:00Z', either: {a: x}, pod: {apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {a: b}}"), nil},
		{fmt.Sprintf(widget, "size: 9, mode: slow, name: TOOLONG"), []string{"spec.mode: should be one of [fast safe]", "spec.name: should be at most 5 chars long", "spec.size: should be less than or equal to 5"}},
		{fmt.Sprintf(widget, "name: UP, port: 1.5, tags: {a: b}, list: [{}, {k: a}, {k: b}], when: noon, either: {}, more: 1"), []string{
			"spec.either: must validate one and only one schema (oneOf). Found none valid", "spec.either.a: is required", "spec.list: should have at most 2 items", "spec.list[0].k: is required",
			"spec.more: is no field of this kind", "spec.name: should match '^[a-z]+$'", "spec.port: must be a whole number or a string", "spec.size: is required", "spec.tags.a: must be of type integer", "spec.when: must be of type date-time"}},
	} {
		o := given.Object(t, c.text)
		got := problems(t, s, o)
		if diff := cmp.Diff(append([]string{}, c.want...), got); diff != "" {
			t.Errorf("%s\n(-want +got):\n%s", c.text, diff)
		}
		if strings.Contains(strings.Join(got, " "), "hunter2") {
			t.Error("a secret is told")
		}
	}
	k.Kubectl(t, "delete", "crd", "widgets.validate.example.org")
}

// TestNothingThatTheServerHoldsIsAProblem takes every object of every kind that the server holds, as a manifest.
func TestNothingThatTheServerHoldsIsAProblem(t *testing.T) {
	k, c, s := schemas(t)
	ns := k.Namespace(t)
	k.Apply(t, strings.ReplaceAll(rich, "NS", ns))
	disco, err := discovery.NewDiscoveryClientForConfig(k.Config())
	if err != nil {
		t.Fatal(err)
	}
	lists, err := disco.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	checked, kinds := 0, 0
	for _, l := range lists {
		for _, r := range l.APIResources {
			// The server takes old Events without the eventTime that it calls required; Events are not kept in Git.
			if !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "patch") || r.Kind == "Event" {
				continue
			}
			gvk := given.Object(t, "{apiVersion: "+l.GroupVersion+", kind: "+r.Kind+"}").GVK()
			all, err := list.Reader{Cluster: c}.List(t.Context(), live.Interest{GVK: gvk})
			if err != nil {
				t.Fatal(err)
			}
			kinds += min(len(all), 1)
			for _, o := range all {
				checked++
				if got := problems(t, s, desired.Sanitise(o)); len(got) > 0 {
					t.Errorf("%s: %v", o.ID(), got)
				}
			}
		}
	}
	t.Logf("%d objects of %d kinds", checked, kinds)
	if kinds < 20 {
		t.Errorf("only %d kinds were there to check", kinds)
	}
}

func TestAKindWithoutASchemaPasses(t *testing.T) {
	_, _, s := schemas(t)
	o := given.Object(t, "{apiVersion: no.example/v1, kind: Gadget, metadata: {name: a}}")
	if _, err := s.Schema(t.Context(), o.GVK()); !errors.Is(err, validate.ErrUnknownKind) {
		t.Errorf("error %v", err)
	}
	one := []desired.Object{{ID: o.ID(), GVK: o.GVK(), Data: o}}
	if err := (validate.Checker{Schemas: s}).Check(t.Context(), one)[0]; err != nil {
		t.Error(err)
	}
	o = given.Object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dat: {}}")
	err := validate.Checker{Schemas: s}.Check(t.Context(), []desired.Object{{ID: o.ID(), GVK: o.GVK(), Data: o}})[0]
	if err == nil || err.Error() != "dat: is no field of this kind" {
		t.Errorf("got %v", err)
	}
}
