package compare_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// BenchmarkUnsettled is the diff of one object without a baseline, from the two decoded objects on: Git's is sanitised, the
// managedFields of the live one are read, and one field differs. For the like Argo CD takes 1.75 ms, 711 KB and 11,031
// allocations (a Deployment), 3.0 ms (a CRD) and 0.23 ms (a small ConfigMap).
func BenchmarkUnsettled(b *testing.B) {
	for name, pair := range map[string]func(testing.TB) (git, live object.Object){"Deployment": deployment, "CRD": crd, "ConfigMap": configMap} {
		b.Run(name, func(b *testing.B) {
			git, live := pair(b)
			b.ReportAllocs()
			for b.Loop() {
				if n := len(diff(b, git, live)); n != 1 {
					b.Fatalf("%d differences", n)
				}
			}
		})
	}
}

func diff(t testing.TB, git, live object.Object) []compare.Difference {
	t.Helper()
	owners, err := ownership.Entries(live)
	if err != nil {
		t.Fatal(err)
	}
	return compare.CompareWithoutBaseline(compare.Pair{
		Desired: desired.Sanitise(git), Live: live, Owners: owners, Native: desired.IsBuiltInGroup(git.GVK().Group),
	}).Differences
}

// deployment has two containers with environment, ports, resources and probes, and the defaults that a server adds.
func deployment(t testing.TB) (git, live object.Object) {
	container := func(name, defaults string) string {
		return fmt.Sprintf(`
      - name: %s
        image: registry.example/%[1]s:1
        args: [--port=8080]
        env: [{name: LEVEL, value: info}, {name: REGION, value: eu}, {name: TOKEN, valueFrom: {secretKeyRef: {name: t, key: k}}}]
        ports: [{containerPort: 8080, protocol: TCP, name: http}]
        resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {memory: 128Mi}}
        readinessProbe: {httpGet: {path: /healthz, port: 8080%[2]s}, periodSeconds: 5}
        livenessProbe: {httpGet: {path: /healthz, port: 8080%[2]s}, periodSeconds: 5}`, name, defaults)
	}
	head := "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\n  labels: {app: web, team: shop}\n"
	spec := "spec:\n  replicas: %d\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:"
	git = given.Object(t, head+fmt.Sprintf(spec, 3)+container("web", "")+container("proxy", ""))
	keys := `{".": {}, "f:name": {}, "f:image": {}, "f:args": {}, "f:env": {'k:{"name":"LEVEL"}': {".": {}, "f:name": {}, "f:value": {}}, 'k:{"name":"REGION"}': {".": {}, "f:name": {}, "f:value": {}}}, "f:ports": {'k:{"containerPort":8080,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:name": {}}}}`
	managed := `  managedFields:
  - {manager: argocd-controller, operation: Apply, apiVersion: apps/v1, time: "2026-01-02T10:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:metadata": {"f:labels": {"f:app": {}, "f:team": {}}}, "f:spec": {"f:selector": {}, "f:template": {"f:metadata": {"f:labels": {"f:app": {}}}, "f:spec": {"f:containers": {'k:{"name":"web"}': ` + keys + `, 'k:{"name":"proxy"}': ` + keys + `}}}}}}
  - {manager: kube-controller-manager, operation: Update, subresource: scale, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
`
	live = given.Object(t, head+managed+fmt.Sprintf(spec, 8)+container("web", ", scheme: HTTP")+container("proxy", ", scheme: HTTP")+
		"\n      restartPolicy: Always\n      terminationGracePeriodSeconds: 30\n      dnsPolicy: ClusterFirst\n")
	return git, live
}

// crd has a schema of 600 properties.
func crd(t testing.TB) (git, live object.Object) {
	properties := strings.Builder{}
	for i := range 600 {
		fmt.Fprintf(&properties, "              p%d: {type: string, description: The %d-th property of the widget, maxLength: %d}\n", i, i, 10+i)
	}
	text := `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets%s}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
`
	git = given.Object(t, fmt.Sprintf(text, ", shortNames: [w]")+properties.String())
	live = given.Object(t, fmt.Sprintf(text, ", shortNames: [wi]")+properties.String())
	live.Metadata()["managedFields"] = []any{map[string]any{
		"manager": "kubectl", "operation": "Apply", "apiVersion": "apiextensions.k8s.io/v1", "time": "2026-01-02T10:00:00Z",
		"fieldsV1": map[string]any{"f:spec": map[string]any{
			"f:group": map[string]any{}, "f:scope": map[string]any{}, "f:versions": map[string]any{},
			"f:names": map[string]any{"f:kind": map[string]any{}, "f:plural": map[string]any{}, "f:shortNames": map[string]any{}},
		}},
	}}
	return git, live
}

func configMap(t testing.TB) (git, live object.Object) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\ndata: {a: one, b: %s, c: three}\n"
	git, live = given.Object(t, fmt.Sprintf(text, "two")), given.Object(t, fmt.Sprintf(text, "other"))
	live.Metadata()["managedFields"] = []any{map[string]any{
		"manager": "kubectl-edit", "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T10:00:00Z",
		"fieldsV1": map[string]any{"f:data": map[string]any{".": map[string]any{}, "f:a": map[string]any{}, "f:b": map[string]any{}, "f:c": map[string]any{}}},
	}}
	return git, live
}
