package unchanged_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live/unchanged"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

func web() object.Object {
	return object.Object{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "10", "generation": int64(1),
			"labels": map[string]any{"app": "web"}, "annotations": map[string]any{"a": "1"},
			"managedFields": []any{
				entry("kubectl", "Update", "f:paused"),
				entry(ownership.Manager, "Apply", "f:replicas"),
			},
		},
		"spec": map[string]any{"replicas": int64(3)}, "status": map[string]any{"replicas": int64(3)},
	}
}

func entry(manager, operation, name string) map[string]any {
	return map[string]any{
		"manager": manager, "operation": operation, "apiVersion": "apps/v1", "time": "2026-01-01T00:00:00Z",
		"fieldsType": "FieldsV1", "fieldsV1": map[string]any{"f:spec": map[string]any{name: map[string]any{}}},
	}
}

func TestFingerprintStaysWhenNothingOfOursCanHaveChanged(t *testing.T) {
	h := ownership.NewHasher()
	for name, change := range map[string]func(object.Object){
		"status":            func(o object.Object) { o["status"] = map[string]any{"replicas": int64(1)} },
		"resourceVersion":   func(o object.Object) { o.Metadata()["resourceVersion"] = "11" },
		"others' fields":    func(o object.Object) { managed(o)[0] = entry("kubectl", "Update", "f:minReadySeconds") },
		"time of our entry": func(o object.Object) { managed(o)[1].(map[string]any)["time"] = "2027-01-01T00:00:00Z" },
		"order of entries":  func(o object.Object) { m := managed(o); m[0], m[1] = m[1], m[0] },
		"metadata alone":    func(o object.Object) { delete(o, "spec"); delete(o, "status") },
	} {
		o := web()
		change(o)
		if unchanged.Fingerprint(h, o) != unchanged.Fingerprint(h, web()) {
			t.Errorf("%s: another fingerprint", name)
		}
	}
}

func TestFingerprintMovesWithEverythingThatMayBeOurs(t *testing.T) {
	h := ownership.NewHasher()
	for name, change := range map[string]func(object.Object){
		"generation": func(o object.Object) { o.Metadata()["generation"] = int64(2) },
		"our fields": func(o object.Object) { managed(o)[1] = entry(ownership.Manager, "Apply", "f:paused") },
		"no entry":   func(o object.Object) { o.Metadata()["managedFields"] = managed(o)[:1] },
		"label":      func(o object.Object) { o.Metadata()["labels"] = map[string]any{"app": "x"} },
		"annotation": func(o object.Object) { o.Metadata()["annotations"] = map[string]any{} },
		"uid":        func(o object.Object) { o.Metadata()["uid"] = "u2" },
		"leaving":    func(o object.Object) { o.Metadata()["deletionTimestamp"] = "2026-01-01T00:00:00Z" },
		"resourceVersion of a kind that does not count": func(o object.Object) {
			o["apiVersion"], o["kind"] = "example.org/v1", "Widget"
			o.Metadata()["resourceVersion"] = "11"
		},
	} {
		o := web()
		change(o)
		if unchanged.Fingerprint(h, o) == unchanged.Fingerprint(h, web()) {
			t.Errorf("%s: the same fingerprint", name)
		}
	}
}

func managed(o object.Object) []any { return o.At("metadata", "managedFields").([]any) }

func BenchmarkFingerprint(b *testing.B) {
	o := web()
	fields := map[string]any{}
	for _, name := range []string{"f:image", "f:name", "f:args", "f:command", "f:imagePullPolicy", "f:workingDir"} {
		fields[name] = map[string]any{}
	}
	env := map[string]any{".": map[string]any{}}
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H", "I", "J"} {
		env[`k:{"name":"`+name+`"}`] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}, "f:value": map[string]any{}}
	}
	fields["f:env"] = env
	managed(o)[1].(map[string]any)["fieldsV1"] = map[string]any{
		"f:metadata": map[string]any{"f:labels": map[string]any{"f:app": map[string]any{}, "f:truce.dev/part-of": map[string]any{}}},
		"f:spec": map[string]any{
			"f:replicas": map[string]any{}, "f:selector": map[string]any{},
			"f:template": map[string]any{"f:spec": map[string]any{"f:containers": map[string]any{`k:{"name":"web"}`: fields}}},
		},
	}
	h := ownership.NewHasher()
	b.ReportAllocs()
	for b.Loop() {
		unchanged.Fingerprint(h, o)
	}
}
