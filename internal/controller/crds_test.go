package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/object"
	"golang.org/x/time/rate"
)

func TestObjectsAreSettledAnewAtALimitedRate(t *testing.T) {
	l := rate.NewLimiter(10, 2)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	const ms = time.Millisecond
	for _, c := range []struct {
		after time.Duration
		want  []time.Duration
	}{
		{0, []time.Duration{0, 0, 100 * ms, 200 * ms}},
		{100 * ms, []time.Duration{200 * ms}}, // behind those of the CRD before
		{time.Minute, []time.Duration{0, 0, 100 * ms}},
	} {
		now = now.Add(c.after)
		if diff := cmp.Diff(c.want, reserveDelays(l, now, len(c.want))); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", c.after, diff)
		}
	}
}

func TestAGroupIsLookedAtUntilTheServerMustHaveNoticed(t *testing.T) {
	g := newGroups(1)
	looks := func() (pauses []time.Duration, names []string) {
		for {
			next, found := g.nextCheck("example.com")
			if next == 0 {
				slices.Sort(found)
				return pauses, found
			}
			pauses = append(pauses, next)
		}
	}
	g.observe("a.example.com", definition{uid: "1", generation: 1})
	g.nextCheck("example.com")
	g.observe("b.example.com", definition{uid: "2", generation: 1}) // begins again
	pauses, names := looks()
	if diff := cmp.Diff(laps[1:], pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a.example.com", "b.example.com"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	g.observe("a.example.com", definition{uid: "1", generation: 2})
	before, now := g.versions("a.example.com")
	if before.generation != 1 || now.generation != 2 {
		t.Errorf("generation %d, then %d; want 1, then 2: the first sight is what objects were settled under", before.generation, now.generation)
	}
}

func TestOnlyWhatObjectsAreReadUnderIsTheSchema(t *testing.T) {
	crd := func(change func(version, spec map[string]any)) digest {
		version := map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}}
		spec := map[string]any{"scope": "Namespaced", "versions": []any{version}, "conversion": map[string]any{"strategy": "Webhook"}}
		change(version, spec)
		return schemaOf(object.Object{"spec": spec})
	}
	was := crd(func(_, _ map[string]any) {})
	for name, c := range map[string]struct {
		change func(version, spec map[string]any)
		same   bool
	}{
		"printer columns": {func(v, _ map[string]any) { v["additionalPrinterColumns"] = []any{} }, true},
		"a certificate":   {func(_, s map[string]any) { s["conversion"].(map[string]any)["webhook"] = "x" }, true},
		"a default":       {func(v, _ map[string]any) { v["schema"] = map[string]any{"default": 1} }, false},
		"served":          {func(v, _ map[string]any) { v["served"] = false }, false},
		"storage":         {func(v, _ map[string]any) { v["storage"] = false }, false},
	} {
		if same := crd(c.change) == was; same != c.same {
			t.Errorf("%s: the same schema: %v, want %v", name, same, c.same)
		}
	}
}
