package decide_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// BenchmarkJudge is compare and decide for one Deployment with two containers, environment and probes, from the decoded
// live object on: its managedFields are read in it, with the memory of its baseline that an engine has, but for "unremembered". Argo CD
// takes 1.75 ms and 711 KB for the like.
func BenchmarkJudge(b *testing.B) {
	for _, c := range []struct {
		name  string
		drift func(o object.Object, entries []any) []any
	}{
		{"unchanged", func(_ object.Object, entries []any) []any { return entries }},
		{"unremembered", func(_ object.Object, entries []any) []any { return entries }},
		{"drift", func(o object.Object, entries []any) []any {
			field.SetValue(o, image, "registry.example/web:9")
			paths := ownership.ApplyEntry(entriesOf(b, o), ownership.Manager).Paths()
			return append([]any{entry(b, ownership.Manager, without(paths, []field.Path{image})), entry(b, "kubectl-set", []field.Path{image})}, entries[1:]...)
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			git, settled := reference(b)
			live := settled.Clone()
			entries, _ := live.At("metadata", "managedFields").([]any)
			live.Metadata()["managedFields"] = c.drift(live, entries)
			hasher := ownership.NewHasher()
			base := compare.NewBaseline(settled, entriesOf(b, settled), hasher)
			var shared compare.Memo
			b.ReportAllocs()
			for b.Loop() {
				memo := &shared
				if c.name == "unremembered" {
					memo = &compare.Memo{}
				}
				owners, err := memo.Owners(live, base)
				if err != nil {
					b.Fatal(err)
				}
				compared, err := compare.CompareObject(compare.Input{Desired: git, Live: live, Owners: owners, Baseline: base, Hasher: hasher})
				if err != nil {
					b.Fatal(err)
				}
				p := decide.JudgeObject(decide.Input{
					Desired: git, Live: live, Owners: owners, Compared: compared, Hasher: hasher, Now: now,
					Policy: policy.Policy{Mode: policy.Enforce, Claims: policy.ClaimsCede, Remediation: policy.Remediate},
				})
				if (len(p.Steps) > 0) != (c.name == "drift") {
					b.Fatal(account(decide.Input{Desired: git}, p))
				}
			}
		})
	}
}

var image = append(append(field.NewPath("spec", "template", "spec", "containers"),
	field.KeyElement(map[string]any{"name": "web"}, []string{"name"})), field.NewPath("image")...)

func entriesOf(t testing.TB, o object.Object) []ownership.Entry {
	t.Helper()
	owners, err := ownership.Entries(o)
	if err != nil {
		t.Fatal(err)
	}
	return owners
}

// reference is a Deployment of Git's, and what a server makes of it: our entry, the controller's, and defaults.
func reference(b *testing.B) (git, settled object.Object) {
	b.Helper()
	probe := func() any {
		return map[string]any{"httpGet": map[string]any{"path": "/healthz", "port": int64(8080)}, "periodSeconds": int64(5)}
	}
	container := func(name string) any {
		return map[string]any{
			"name": name, "image": "registry.example/" + name + ":1", "args": []any{"--port=8080"},
			"env": []any{
				map[string]any{"name": "LEVEL", "value": "info"}, map[string]any{"name": "REGION", "value": "eu"},
				map[string]any{"name": "TOKEN", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "t", "key": "k"}}},
			},
			"ports":          []any{map[string]any{"containerPort": int64(8080), "protocol": "TCP", "name": "http"}},
			"resources":      map[string]any{"requests": map[string]any{"cpu": "100m", "memory": "64Mi"}, "limits": map[string]any{"memory": "128Mi"}},
			"readinessProbe": probe(), "livenessProbe": probe(),
		}
	}
	labels := map[string]any{"app": "web", object.PartOf: "shop.web"}
	git = object.Object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "labels": labels},
		"spec": map[string]any{
			"replicas": int64(3), "selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
				"spec":     map[string]any{"containers": []any{container("web"), container("proxy")}},
			},
		},
	}
	settled = git.Clone()
	settled.Metadata()["managedFields"] = []any{
		entry(b, ownership.Manager, leaves(git["metadata"].(map[string]any)["labels"], field.NewPath("metadata", "labels"), leaves(git["spec"], field.NewPath("spec"), nil))),
		entry(b, "kube-controller-manager", []field.Path{field.NewPath("metadata", "annotations", "deployment.kubernetes.io/revision")}),
	}
	spec := settled["spec"].(map[string]any)
	spec["progressDeadlineSeconds"], spec["revisionHistoryLimit"] = int64(600), int64(10)
	return git, settled
}

// leaves lists what an apply of v would own: lists of named items by item, other lists and the selector whole.
func leaves(v any, at field.Path, out []field.Path) []field.Path {
	m, ok := v.(map[string]any)
	if !ok || at[len(at)-1].FieldName != nil && *at[len(at)-1].FieldName == "selector" {
		return append(out, at)
	}
	for k, c := range m {
		p := append(at.Copy(), field.NewPath(k)...)
		list, _ := c.([]any)
		keys := map[string][]string{"containers": {"name"}, "env": {"name"}, "ports": {"containerPort", "protocol"}}[k]
		if keys == nil {
			out = leaves(c, p, out)
			continue
		}
		for _, item := range list {
			q := append(p.Copy(), field.KeyElement(item.(map[string]any), keys))
			out = leaves(item, q, append(out, q))
		}
	}
	return out
}
