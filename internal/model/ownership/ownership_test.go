package ownership_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

func entries(t *testing.T, managedFields ...any) []ownership.Entry {
	t.Helper()
	out, err := ownership.Entries(object.Object{"metadata": map[string]any{"managedFields": managedFields}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAMapThatIsNamedForItsPresenceIsNotOwnedWhole(t *testing.T) {
	labels, app := field.NewPath("metadata", "labels"), field.NewPath("metadata", "labels", "app")
	ours, presence := entry(t, ownership.Manager, []field.Path{app}), entry(t, "before-first-apply", []field.Path{labels})
	both := entries(t, presence, ours)
	if others := ownership.OthersOf(both, ownership.Manager, app); len(others) > 0 {
		t.Errorf("%s owns our label too", others[0])
	}
	if whole, part := ownership.AtomicAncestor(both, app); part {
		t.Errorf("%s is atomic, although we own a part of it", field.PathString(whole))
	}
	alone := entries(t, presence)
	if _, part := ownership.AtomicAncestor(alone, app); !part || len(ownership.OthersOf(alone, ownership.Manager, app)) != 1 {
		t.Error("nothing tells that it is not atomic, and it is not taken for that")
	}
}

func TestTheWriterIsWhoOwnsTheField(t *testing.T) {
	at := func(m map[string]any, when string) map[string]any { m["time"] = when; return m }
	image, other := field.NewPath("spec", "image"), field.NewPath("spec", "other")
	ours := at(entry(t, ownership.Manager, []field.Path{other}), "2026-01-01T00:00:00Z")
	person := at(entry(t, "kubectl-edit", []field.Path{image}), "2026-01-01T00:00:01Z")
	handover := entry(t, ownership.Handover, []field.Path{image})
	scale := entry(t, "kubectl", []field.Path{image})
	scale["subresource"] = "scale"
	earlier := at(entry(t, "helm", []field.Path{image}), "2025-01-01T00:00:00Z")
	edited := ownership.Writer{
		Name: "kubectl-edit", Manager: "kubectl-edit", Operation: "Update", Person: true, Time: time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC), AtLatest: true,
		Evidence: ownership.Recorded, Because: []string{"managedFields: kubectl-edit, Update"},
	}
	for _, c := range []struct {
		name   string
		fields []any
		path   field.Path
		want   ownership.Writer
	}{
		{"recorded", []any{ours, person}, image, edited},
		{"latest", []any{earlier, person, ours}, image, edited},
		{"scale has no time", []any{person, scale}, image, ownership.Writer{
			Name: "kubectl (scale)", Manager: "kubectl", Operation: "Update", Subresource: "scale", Person: true, Evidence: ownership.Recorded,
			Because: []string{"managedFields: kubectl, Update of scale"},
		}},
		{"nothing tells when it was good", []any{ours, person}, field.NewPath("spec", "gone"), ownership.Writer{Evidence: ownership.Unknown}},
		{"our handover wrote nothing", []any{handover}, image, ownership.Writer{Evidence: ownership.Unknown}},
		{"nobody", []any{ours, earlier}, field.NewPath("spec", "gone"), ownership.Writer{Evidence: ownership.Unknown}},
	} {
		if diff := cmp.Diff(c.want, ownership.WriterOf(entries(t, c.fields...), c.path)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestPositionsBecomeKeys(t *testing.T) {
	o := object.Object{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "a"}, map[string]any{"name": "b", "ports": []any{map[string]any{"containerPort": int64(80)}}}},
		"args":       []any{"x", "y"},
	}, "metadata": map[string]any{"finalizers": []any{"f"}}}
	owners := entries(t, map[string]any{"manager": "truce", "operation": "Apply", "fieldsV1": map[string]any{
		"f:metadata": map[string]any{"f:finalizers": map[string]any{`v:"f"`: map[string]any{}}},
		"f:spec": map[string]any{
			"f:args": map[string]any{}, "f:dropped": map[string]any{"f:part": map[string]any{}},
			"f:containers": map[string]any{`k:{"name":"b"}`: map[string]any{
				"f:name": map[string]any{}, "f:ports": map[string]any{`k:{"containerPort":80,"protocol":"TCP"}`: map[string]any{".": map[string]any{}}},
			}},
		},
	}})
	for pointer, want := range map[string]string{
		"/spec/containers/1":                       ".spec.containers[name=b]",
		"/spec/containers/0/name":                  ".spec.containers[name=a].name",
		"/spec/containers/1/ports/0/containerPort": ".spec.containers[name=b].ports[containerPort=80,protocol=TCP].containerPort",
		"/spec/args/1":                             ".spec.args[1]",
		"/metadata/finalizers/0":                   ".metadata.finalizers[=f]",
		"/spec/dropped/part":                       ".spec.dropped.part",
		"/spec/dropped":                            ".spec.dropped",
		"/spec/never":                              "",
		"/spec/args/2":                             "",
		"/spec/args/01":                            "",
		"/spec/args/-":                             "",
		"/spec/args/x":                             "",
	} {
		p, err := field.ParsePointer(pointer)
		if err != nil {
			t.Fatal(err)
		}
		path, ok := ownership.Resolve(p, o, owners)
		if got := field.PathString(path); ok != (want != "") || ok && got != want {
			t.Errorf("%s is %s, %v; want %q", pointer, got, ok, want)
		}
	}
}

func TestAMalformedEntryIsAnError(t *testing.T) {
	for _, bad := range []any{1, map[string]any{"fieldsV1": map[string]any{"x": map[string]any{}}}, map[string]any{"fieldsV1": map[string]any{"f:a": 1}}} {
		if _, err := ownership.Entries(object.Object{"metadata": map[string]any{"managedFields": []any{bad}}}); err == nil {
			t.Errorf("%v is no error", bad)
		}
	}
}
