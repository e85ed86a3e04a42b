package dependency_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/dependency"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestACycleIsFoundFromEachOfItsMembers(t *testing.T) {
	key := func(name string) object.ID { return object.ID{Kind: "Kustomization", Namespace: "n", Name: name} }
	edges := map[string]string{"a": "x b", "b": "c", "c": "y a", "d": "a", "s": "s", "x": "y gone", "y": ""}
	dependencies := func(k object.ID) []object.ID {
		var out []object.ID
		for to := range strings.FieldsSeq(edges[k.Name]) {
			out = append(out, key(to))
		}
		return out
	}
	for from, want := range map[string]string{
		"a": "n/a → n/b → n/c → n/a", "b": "n/b → n/c → n/a → n/b", "c": "n/c → n/a → n/b → n/c", "s": "n/s → n/s",
		"d": "", "x": "", "y": "", "gone": "", // what only depends on a cycle is no member
	} {
		got := ""
		if cycle := dependency.FindCycle(key(from), dependencies); cycle != nil {
			got = dependency.CycleText(cycle)
		}
		if want != "" {
			want = "dependency cycle: " + want + ": each waits for the next, and none is applied; remove one of these entries of dependsOn"
		}
		if got != want {
			t.Errorf("from %s: %q, want %q", from, got, want)
		}
	}
}

func TestACycleOfSeveralKindsNamesThem(t *testing.T) {
	a, b := object.ID{Kind: "Kustomization", Namespace: "n", Name: "web"}, object.ID{Kind: "HelmRelease", Namespace: "n", Name: "web"}
	text := dependency.CycleText([]object.ID{a, b})
	if want := "dependency cycle: Kustomization/n/web → HelmRelease/n/web → Kustomization/n/web: "; !strings.HasPrefix(text, want) {
		t.Errorf("%q, want %q", text, want)
	}
}
