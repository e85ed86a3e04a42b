package compare_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/compare"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/ownership"
)

// TestWhatAdmissionChanged compares what was sent with what the server returned, at each path that we own.
func TestWhatAdmissionChanged(t *testing.T) {
	const workload = "apiVersion: apps/v1\nkind: Deployment\n"
	cases := map[string]struct {
		reason       string
		sent, result string
		want         []string
	}{
		"a label": {
			"another text is another value",
			workload + "metadata: {labels: {team: a}}", workload + "metadata: {labels: {team: kyverno}}",
			[]string{".metadata.labels.team: kyverno"},
		},
		"a number": {
			"another number is another value, also instead of 0",
			workload + "spec: {replicas: 0, template: {spec: {terminationGracePeriodSeconds: 1}}}",
			workload + "spec: {replicas: 5, template: {spec: {terminationGracePeriodSeconds: 77}}}",
			[]string{".spec.replicas: 5", ".spec.template.spec.terminationGracePeriodSeconds: 77"},
		},
		"a container's image": {
			"list items are compared by their keys",
			workload + "spec: {template: {spec: {containers: [{name: web, image: app:1}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: proxy, image: p:1}, {name: web, image: mirror/app:1}]}}}",
			[]string{`.spec.template.spec.containers[name=web].image: mirror/app:1`},
		},
		"a container that is gone": {
			"the item stands for what is in it",
			workload + "spec: {template: {spec: {containers: [{name: web, image: app:1}, {name: debug, image: d:1}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, image: app:1}]}}}",
			[]string{`.spec.template.spec.containers[name=debug]: <nil>`},
		},
		"a node selector": {
			"an atomic map holds what was sent and nothing else",
			workload + "spec: {template: {spec: {nodeSelector: {disk: ssd}}}}",
			workload + "spec: {template: {spec: {nodeSelector: {disk: ssd, zone: a}}}}",
			[]string{".spec.template.spec.nodeSelector: map[disk:ssd zone:a]"},
		},
		"arguments": {
			"an atomic list has as many items as were sent",
			workload + "spec: {template: {spec: {containers: [{name: web, args: [a]}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, args: [a, b]}]}}}",
			[]string{`.spec.template.spec.containers[name=web].args: [a b]`},
		},
		"an argument that looks like a quantity": {
			"texts are compared as texts",
			workload + "spec: {template: {spec: {containers: [{name: web, args: ['1']}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, args: ['1000m']}]}}}",
			[]string{`.spec.template.spec.containers[name=web].args: [1000m]`},
		},
		"quantities": {
			"the same quantity in another form is the same value",
			workload + "spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: 1, memory: 1024Mi}}}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, resources: {limits: {cpu: '1', memory: 1Gi}}}]}}}",
			nil,
		},
		"defaults inside an atomic list": {
			"what the server adds beside is no change of what was sent",
			"apiVersion: apps/v1\nkind: StatefulSet\nspec: {volumeClaimTemplates: [{metadata: {name: d}, spec: {resources: {requests: {storage: 1024Mi}}}}]}",
			"apiVersion: apps/v1\nkind: StatefulSet\nspec: {volumeClaimTemplates: [{kind: PersistentVolumeClaim, metadata: {name: d}, spec: {volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}]}",
			nil,
		},
		"zero values": {
			"the server omits false, 0 and the empty text where they are no pointers",
			workload + "spec: {paused: false, minReadySeconds: 0, template: {spec: {hostNetwork: false, containers: [{name: web, env: [{name: A, value: ''}]}]}}}",
			workload + "spec: {template: {spec: {containers: [{name: web, env: [{name: A}]}]}}}",
			nil,
		},
		"a pointer that is gone": {
			"false and 0 of a pointer are values",
			workload + "spec: {template: {spec: {automountServiceAccountToken: false}}}",
			workload + "spec: {template: {spec: {}}}",
			[]string{".spec.template.spec.automountServiceAccountToken: <nil>"},
		},
		"allocated numbers": {
			"0 asks the server for a port",
			"apiVersion: v1\nkind: Service\nspec: {clusterIP: '', ports: [{port: 80, protocol: TCP, nodePort: 0}]}",
			"apiVersion: v1\nkind: Service\nspec: {clusterIP: 10.0.0.1, ports: [{port: 80, protocol: TCP, nodePort: 30123}]}",
			nil,
		},
		"a custom resource": {
			"it is stored as it was sent",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {size: 0, cpu: '1', name: ''}",
			"apiVersion: example.com/v1\nkind: Widget\nspec: {cpu: 1000m, name: web}",
			[]string{".spec.cpu: 1000m", ".spec.name: web", ".spec.size: <nil>"},
		},
		"quantities inside an atomic list": {
			"a value that has no name beside it is no environment variable",
			"apiVersion: v1\nkind: ResourceSlice\nspec: {volumeClaimTemplates: [{capacity: {memory: {value: 1024Mi}}}]}",
			"apiVersion: v1\nkind: ResourceSlice\nspec: {volumeClaimTemplates: [{capacity: {memory: {value: 1Gi}}}]}",
			nil,
		},
		"times and base64": {
			"the server writes both in a form of its own",
			"apiVersion: coordination.k8s.io/v1\nkind: Lease\nspec: {renewTime: '2026-01-01T00:00:00Z', caBundle: \"YWJj\\nZGVm\"}",
			"apiVersion: coordination.k8s.io/v1\nkind: Lease\nspec: {renewTime: '2026-01-01T00:00:00.000000Z', caBundle: YWJjZGVm}",
			nil,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			git, result := parse(t, c.sent), parse(t, c.result)
			owners := ownersOf(t, git)
			h := ownership.NewHasher()
			answer := compare.Answer{Sent: git, Result: result, Owners: owners, Native: git.GVK().Group != "example.com"}
			r, err := compare.Object(compare.Input{
				Desired: git, Live: result, Owners: owners, Baseline: answer.Baseline(h), Hasher: h, Native: answer.Native,
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, printed(t, r.Differences)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestAFieldThatIsRestored is equal to Git whatever the last apply left there.
func TestAFieldThatIsRestored(t *testing.T) {
	git := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {team: a}}")
	mutated := parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {team: b}}")
	owners, h := ownersOf(t, git), ownership.NewHasher()
	in := compare.Input{
		Desired: git, Live: git, Owners: owners, Hasher: h, Native: true,
		Baseline: compare.Answer{Sent: git, Result: mutated, Owners: owners, Native: true}.Baseline(h),
	}
	if !in.Baseline.Mutated() {
		t.Fatal("the answer differs from what was sent")
	}
	r, err := compare.Object(in)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) > 0 {
		t.Errorf("the field holds Git's value: %v", r.Differences)
	}
	in.Live = parse(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {team: c}}")
	if r, err = compare.Object(in); err != nil {
		t.Fatal(err)
	}
	if len(r.Differences) != 1 || r.Differences[0].Kind != compare.Changed {
		t.Errorf("a third value is drift: %v", r.Differences)
	}
}

// ownersOf returns the entry that an apply of all of an object's fields leaves.
func ownersOf(t *testing.T, git object.Object) []ownership.Entry {
	t.Helper()
	o := object.Object{"metadata": map[string]any{"managedFields": []any{map[string]any{
		"manager": ownership.Manager, "operation": "Apply", "apiVersion": git.APIVersion(), "fieldsV1": fieldsOf(git["metadata"], git["spec"]),
	}}}}
	owners, err := ownership.Entries(o)
	if err != nil {
		t.Fatal(err)
	}
	return owners
}

func fieldsOf(metadata, spec any) map[string]any {
	out := map[string]any{}
	for name, v := range map[string]any{"metadata": metadata, "spec": spec} {
		if v != nil {
			out["f:"+name] = fieldsIn(name, v)
		}
	}
	return out
}

// atomic are the fields of the cases above that have one owner as a whole.
var atomic = map[string]bool{"nodeSelector": true, "args": true, "volumeClaimTemplates": true}

func fieldsIn(name string, v any) map[string]any {
	out := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		if atomic[name] {
			return out
		}
		for k, c := range v {
			out["f:"+k] = fieldsIn(k, c)
		}
	case []any:
		for _, item := range v {
			m, ok := item.(map[string]any)
			if !ok || atomic[name] {
				return map[string]any{}
			}
			key := `k:{"port":80,"protocol":"TCP"}`
			if n, ok := m["name"].(string); ok {
				key = `k:{"name":"` + n + `"}`
			}
			fields := fieldsIn("", m)
			fields["."] = map[string]any{}
			out[key] = fields
		}
	}
	return out
}

func printed(t *testing.T, all []compare.Difference) []string {
	t.Helper()
	var out []string
	for _, d := range all {
		if d.Kind != compare.Mutated {
			t.Errorf("%s is %s", field.String(d.Path), d.Kind)
		}
		out = append(out, field.String(d.Path)+": "+fmt.Sprint(d.Live))
	}
	return out
}
