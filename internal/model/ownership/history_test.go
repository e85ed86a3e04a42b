package ownership_test

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// seconds is a time of managedFields.
func seconds(n int) string {
	return time.Date(2026, 1, 1, 12, 0, n, 0, time.UTC).Format(time.RFC3339)
}

func TestOnlyAnEntryThatWasWrittenSinceIsTheWriter(t *testing.T) {
	p, q := field.NewPath("spec", "image"), field.NewPath("metadata", "annotations", "note")
	of := func(manager, operation string, at int, paths ...field.Path) map[string]any {
		m := entry(t, manager, paths)
		m["operation"], m["time"] = operation, seconds(at)
		return m
	}
	scale := of("kube-controller-manager", "Update", 0, p)
	scale["subresource"] = "scale"
	delete(scale, "time")
	scaledOther := of("kube-controller-manager", "Update", 0, q)
	scaledOther["subresource"] = "scale"
	delete(scaledOther, "time")
	status := of("controller", "Update", 30, q)
	status["subresource"] = "status"
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
		{"an owner that has not written", []any{of("flux", "Apply", long, p)}, []any{of("flux", "Apply", long, p), of("kubectl-annotate", "Update", now, q)}, true, "an unknown writer", true},
		{"an owner that only lost a field", []any{of("flux", "Apply", long, p, q)}, []any{of("flux", "Apply", long, p), of("kubectl-annotate", "Update", now, q)}, true, "an unknown writer", true},
		{"a scale without a time that changed nothing", []any{scale}, []any{scale, of("kubectl-annotate", "Update", now, q)}, true, "an unknown writer", true},
		{"an owner that may have written again within the second", []any{of("flux", "Apply", now, p)}, []any{of("flux", "Apply", now, p)}, false, "an unknown writer", false},
		{"another scale by the same", []any{scale}, []any{scale}, true, "kube-controller-manager (scale)", false},
		{"an apply of the same value does not take it from an update", []any{of("truce", "Apply", long, p)}, []any{of("ci", "Update", now, p), of("flux", "Apply", now, p)}, false, "ci", false},
		{"two that applied the same value", []any{of("truce", "Apply", long, p)}, []any{of("a", "Apply", now, p), of("b", "Apply", now, p)}, false, "an unknown writer", false},
		{"the one of two that applied it since", []any{of("a", "Apply", long, p)}, []any{of("a", "Apply", long, p), of("b", "Apply", now, p)}, true, "b", false},
		{"a field that is gone, and one request since", []any{of("truce", "Apply", long, p)}, []any{of("truce", "Apply", long, q), of("kubectl-edit", "Update", now, q)}, true, "kubectl-edit (inferred)", false},
		{"a field that is gone, and several requests since", []any{of("truce", "Apply", long, p)}, []any{of("truce", "Apply", long, q), of("kubectl-edit", "Update", now, q)}, false, "an unknown writer", false},
		{"a field that is gone, and a write before it was good", []any{of("truce", "Apply", long, p), of("kubectl-edit", "Update", long, q)}, []any{of("truce", "Apply", long, q), of("kubectl-edit", "Update", long, q)}, true, "an unknown writer", false},
		{"an old owner, and several requests since", []any{of("flux", "Apply", long, p)}, []any{of("flux", "Apply", long, p), of("kubectl-annotate", "Update", now, q)}, false, "an unknown writer", true},
		{"an owner that is older than another entry", []any{of("flux", "Apply", now-2, p), of("ci", "Update", now-1, q)}, []any{of("flux", "Apply", now-2, p), of("ci", "Update", now, q)}, false, "an unknown writer", true},
		{"a scale without a time, and several requests since", []any{scale}, []any{scale, of("kubectl-annotate", "Update", now, q)}, false, "an unknown writer", false},
		{"a scale without a time, and a status", []any{scale}, []any{scale, status}, false, "kube-controller-manager (scale)", false},
		{"a scale without a time, and truce", []any{scale}, []any{scale, of("truce", "Apply", now, q)}, false, "kube-controller-manager (scale)", false},
		{"a scale without a time, and the handover", []any{scale}, []any{scale, of("truce-handover", "Apply", now, q)}, false, "kube-controller-manager (scale)", false},
		{"a scale that gained the field", []any{scaledOther}, []any{scale, of("kubectl-annotate", "Update", now, q)}, false, "kube-controller-manager (scale)", false},
		{"a field that is gone, and a status beside the request", []any{of("truce", "Apply", long, p)}, []any{of("truce", "Apply", long, q), status, of("kubectl-edit", "Update", now, q)}, true, "kubectl-edit (inferred)", false},
		{"a field that is gone, and our own entry beside the request", []any{of("flux", "Apply", long, p)}, []any{of("truce", "Apply", now, q), of("truce-handover", "Apply", now, q), of("kubectl-edit", "Update", now, q)}, true, "kubectl-edit (inferred)", false},
		{"a field that is gone, and an entry of the same second", []any{of("truce", "Apply", long, p), of("ci", "Update", now, q)}, []any{of("truce", "Apply", long, q), of("ci", "Update", now, q), of("kubectl-edit", "Update", now, q)}, true, "kubectl-edit (inferred)", false},
		{"a field that is gone, and an entry that came long before the event", []any{of("truce", "Apply", long, p)}, []any{of("truce", "Apply", long, q), of("ci", "Update", long, q), of("kubectl-edit", "Update", now, q)}, true, "kubectl-edit (inferred)", false},
		{"a field that is gone, and two requests", []any{of("truce", "Apply", long, p)}, []any{of("truce", "Apply", long, q), of("ci", "Update", now, q), of("kubectl-edit", "Update", now, q)}, true, "an unknown writer", false},
		{"our handover beside an owner that has not written", []any{of("flux", "Apply", long, p)}, []any{of("flux", "Apply", long, p), of("truce-handover", "Apply", now, p)}, false, "an unknown writer", true},
	} {
		h := ownership.NewHasher()
		at := time.Date(2026, 1, 1, 12, 0, now, 0, time.UTC)
		single := at
		if !c.single {
			single = time.Time{}
		}
		past := h.Observe(entries(t, c.before...), at.Add(-time.Second)).With(entries(t, c.after...), single)
		if got := past.WriterOf(p).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if got := past.Untouched(p); got != c.untouched {
			t.Errorf("%s: untouched: %t", c.name, got)
		}
	}
}

// TestTheTimeOfTheOneWriteIsNoBound: an entry's time is that of its newest field, and of this one where it is the one write since.
func TestTheTimeOfTheOneWriteIsNoBound(t *testing.T) {
	p := field.NewPath("spec", "image")
	m := entry(t, "kubectl-edit", []field.Path{p})
	m["operation"], m["time"] = "Update", seconds(30)
	at := time.Date(2026, 1, 1, 12, 0, 30, 0, time.UTC)
	seen := ownership.NewHasher().Observe(entries(t, entry(t, "truce", []field.Path{p})), at.Add(-time.Second))
	if w := seen.With(entries(t, m), at).WriterOf(p); w.AtLatest || w.Time.IsZero() {
		t.Errorf("the one write: %v, at the latest: %t", w.Time, w.AtLatest)
	}
	if w := seen.With(entries(t, m), time.Time{}).WriterOf(p); !w.AtLatest {
		t.Error("one of several writes has a bound only")
	}
}

func TestTruceWroteWhereItsOwnEntryDid(t *testing.T) {
	p := field.NewPath("spec", "image")
	of := func(manager string, at int) map[string]any {
		m := entry(t, manager, []field.Path{p})
		m["time"] = seconds(at)
		return m
	}
	at := time.Date(2026, 1, 1, 12, 0, 30, 0, time.UTC)
	seen := ownership.NewHasher().Observe(entries(t, of("truce", 0), of("flux", 0)), at)
	for _, c := range []struct {
		h    ownership.History
		want bool
	}{
		{seen.With(entries(t, of("truce", 0), of("flux", 30)), at), false},
		{seen.With(entries(t, of("truce", 30), of("flux", 0)), at), true},
		{ownership.History{}.With(entries(t, of("truce", 30)), at), false},
	} {
		if got := c.h.Wrote(ownership.Manager); got != c.want {
			t.Errorf("%+v wrote: %t", c.h, got)
		}
	}
}

// TestAnAuthorMayBeTruce names who gave a field the value that it has. What the handover holds was there before it.
func TestAnAuthorMayBeTruce(t *testing.T) {
	p := field.NewPath("spec", "image")
	of := func(manager, operation string) map[string]any {
		m := entry(t, manager, []field.Path{p})
		m["operation"], m["time"] = operation, seconds(0)
		return m
	}
	for _, c := range []struct {
		name, want, because string
		owners              []any
	}{
		{"truce alone", "truce", "managedFields: truce, Apply", []any{of("truce", "Apply")}},
		{"an update beside it", "ci", "managedFields: ci, Update", []any{of("truce", "Apply"), of("ci", "Update")}},
		{"two that apply", "an unknown writer", "managedFields: truce, flux applied this value; which of them was first is not recorded", []any{of("truce", "Apply"), of("flux", "Apply")}},
		{"our handover", "an unknown writer", "managedFields: truce-handover holds the value that was live when truce ceded the field", []any{of("truce-handover", "Apply")}},
		{"an owner beside our handover", "flux", "managedFields: flux, Apply", []any{of("truce-handover", "Apply"), of("flux", "Apply")}},
		{"nobody", "an unknown writer", "", nil},
	} {
		w := ownership.History{}.With(entries(t, c.owners...), time.Time{}).Author(p)
		if got := strings.Join(w.Because, ""); w.String() != c.want || got != c.because {
			t.Errorf("%s: %s, %q", c.name, w, got)
		}
	}
}

func TestWhatAStatusWriteOwnsOfTheMetadataIsKnown(t *testing.T) {
	p := field.NewPath("metadata", "annotations", "team")
	m := entry(t, "controller", []field.Path{p, field.NewPath("status", "replicas")})
	m["subresource"] = "status"
	owners := entries(t, m)
	if got := ownership.WriterOf(owners, p).String(); got != "controller (status)" {
		t.Errorf("written by %s", got)
	}
	if owners[0].Fields.Under(field.NewPath("status")) {
		t.Error("the fields of the status are read, which Git never names")
	}
}
