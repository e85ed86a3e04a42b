package ownership_test

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/ownership"
)

// seconds is a time of managedFields.
func seconds(n int) string {
	return time.Date(2026, 1, 1, 12, 0, n, 0, time.UTC).Format(time.RFC3339)
}

func TestOnlyAnEntryThatWasWrittenSinceIsTheWriter(t *testing.T) {
	p, q := field.Name("spec", "image"), field.Name("metadata", "annotations", "note")
	of := func(manager, operation string, at int, paths ...field.Path) map[string]any {
		m := entry(t, manager, paths)
		m["operation"], m["time"] = operation, seconds(at)
		return m
	}
	scale := of("kube-controller-manager", "Update", 0, p)
	scale["subresource"] = "scale"
	delete(scale, "time")
	long, now := 0, 30 // long ago; the moment of the write
	for _, c := range []struct {
		name          string
		before, after []any
		single        bool
		want          string
		untouched     bool
	}{
		{"an owner that gained the field", []any{of("truce", "Apply", long, p)}, []any{of("truce", "Apply", long, q), of("kubectl-edit", "Update", now, p)}, true, "kubectl-edit", false},
		{"an owner that wrote it again", []any{of("ci", "Update", long, p)}, []any{of("ci", "Update", now, p)}, true, "ci", false},
		{"an owner that has not written", []any{of("flux", "Apply", long, p)}, []any{of("flux", "Apply", long, p), of("kubectl-annotate", "Update", now, q)}, true, "somebody (unknown)", true},
		{"an owner that only lost a field", []any{of("flux", "Apply", long, p, q)}, []any{of("flux", "Apply", long, p), of("kubectl-annotate", "Update", now, q)}, true, "somebody (unknown)", true},
		{"a scale without a time that changed nothing", []any{scale}, []any{scale, of("kubectl-annotate", "Update", now, q)}, true, "somebody (unknown)", true},
		{"an owner that may have written again within the second", []any{of("flux", "Apply", now, p)}, []any{of("flux", "Apply", now, p)}, false, "somebody (unknown)", false},
		{"another scale by the same", []any{scale}, []any{scale}, true, "kube-controller-manager (scale)", false},
		{"an apply of the same value does not take it from an update", []any{of("truce", "Apply", long, p)}, []any{of("ci", "Update", now, p), of("flux", "Apply", now, p)}, false, "ci", false},
		{"two that applied the same value", []any{of("truce", "Apply", long, p)}, []any{of("a", "Apply", now, p), of("b", "Apply", now, p)}, false, "somebody (unknown)", false},
		{"the one of two that applied it since", []any{of("a", "Apply", long, p)}, []any{of("a", "Apply", long, p), of("b", "Apply", now, p)}, true, "b", false},
		{"a field that is gone, and one request since", []any{of("truce", "Apply", long, p)}, []any{of("truce", "Apply", long, q), of("kubectl-edit", "Update", now, q)}, true, "kubectl-edit (inferred)", false},
		{"a field that is gone, and several requests since", []any{of("truce", "Apply", long, p)}, []any{of("truce", "Apply", long, q), of("kubectl-edit", "Update", now, q)}, false, "somebody (unknown)", false},
		{"a field that is gone, and a write before it was good", []any{of("truce", "Apply", long, p), of("kubectl-edit", "Update", long, q)}, []any{of("truce", "Apply", long, q), of("kubectl-edit", "Update", long, q)}, true, "somebody (unknown)", false},
	} {
		h := ownership.NewHasher()
		at := time.Date(2026, 1, 1, 12, 0, now, 0, time.UTC)
		single := at
		if !c.single {
			single = time.Time{}
		}
		past := h.See(entries(t, c.before...), at.Add(-time.Second)).Now(entries(t, c.after...), single)
		if got := past.WriterOf(p).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := past.Untouched(p); got != c.untouched {
			t.Errorf("%s: untouched: %t", c.name, got)
		}
	}
}

func TestWhatAStatusWriteOwnsOfTheMetadataIsKnown(t *testing.T) {
	p := field.Name("metadata", "annotations", "team")
	m := entry(t, "controller", []field.Path{p, field.Name("status", "replicas")})
	m["subresource"] = "status"
	owners := entries(t, m)
	if got := ownership.WriterOf(owners, p).String(); got != "controller (status)" {
		t.Errorf("written by %s", got)
	}
	if owners[0].Fields.Under(field.Name("status")) {
		t.Error("the fields of the status are read, which Git never names")
	}
}
