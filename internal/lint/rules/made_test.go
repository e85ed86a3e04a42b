package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/discover/appset"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// TestWhatASetMakesIsFoundWhereItIsWritten runs the stories of testdata-sets: what is wrong in an Application that an ApplicationSet makes is
// in its template, its templatePatch, or a parameter.
func TestWhatASetMakesIsFoundWhereItIsWritten(t *testing.T) {
	golden.Run(t, "testdata-sets/*.txtar", func(t *testing.T, in golden.Files) string {
		var b strings.Builder
		for _, f := range rules.CheckAll(taken(t, in)) {
			fmt.Fprintf(&b, "%s:%d %s: %s\n", f.Place, f.Place.Column, f.Rule, f.Message)
			for _, p := range f.Others {
				fmt.Fprintf(&b, "  see %s:%d\n", p, p.Column)
			}
		}
		return b.String()
	})
}

// taken is the repository as a survey finds it.
func taken(t *testing.T, in golden.Files) discover.Discovery {
	t.Helper()
	dir := t.TempDir()
	in.Write(t, dir)
	files, err := disk.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	s, err := discover.FindApps(t.Context(), files.Snapshot(), discover.Options{
		Kinds: []discover.Kind{
			{Dialect: discover.ArgoCD, Group: "argoproj.io", Kind: "Application", Apps: argocd.Applications{}},
			{Dialect: discover.ArgoCD, Group: "argoproj.io", Kind: "ApplicationSet", Sets: appset.Sets{}},
		},
		Render:    &render.Cached{Renderer: &kustomize.Renderer{Plain: plain.Renderer{}}},
		Addresses: []string{"https://git.example.org/shop.git"}, Workers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]discover.Skipped(nil), s.Skipped); diff != "" {
		t.Fatalf("not looked into:\n%s", diff)
	}
	return s
}
