package discover_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render/local"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestASubmoduleOfACommitIsNotLookedInto(t *testing.T) {
	lib := gittest.New(t, map[string]string{"x.yaml": "x"})
	r := gittest.New(t, map[string]string{"o/kustomization.yaml": "resources: [../vendor/lib/x.yaml]"})
	r.Submodule("vendor/lib", lib.Head())
	store, closed, err := local.OpenStore(local.AnyServer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closed)
	a, err := store.Fetch(t.Context(), source.Spec{URL: "file://" + r.Dir, Ref: source.Ref{Branch: gittest.Main}})
	if err != nil {
		t.Fatal(err)
	}
	got := discovered(t, a.Files, discover.Options{Kinds: kinds()})
	var broken, skipped []string
	for _, k := range got.Skipped {
		if k.Broken {
			broken = append(broken, k.What)
		} else {
			skipped = append(skipped, k.What)
		}
	}
	if d := cmp.Diff([]string{"o", "submodule vendor/lib"}, skipped); d != "" || len(broken) > 0 {
		t.Errorf("broken: %v, not looked into (-want +got):\n%s", broken, d)
	}
}
