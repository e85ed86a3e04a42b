package discover_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// fleet is a repository of Applications that an Application of their own describes.
func fleet(n int) map[string]string {
	files := map[string]string{"root.yaml": application("root", "apps")}
	for i := range n {
		name := fmt.Sprintf("app-%03d", i)
		files["apps/"+name+".yaml"] = application(name, "work/"+name)
		files["work/"+name+"/config.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
	}
	return files
}

func application(name, path string) string {
	return "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: " + name + ", namespace: argocd}\n" +
		"spec:\n  project: default\n  source: {repoURL: https://git.example/fleet, path: " + path + "}\n" +
		"  destination: {server: 'https://kubernetes.default.svc', namespace: shop}\n"
}

// countedProgress is a Progress that never goes back.
type countedProgress struct {
	t     *testing.T
	last  [2]int
	calls int
}

func (c *countedProgress) Rendered(done, total int) {
	if done != c.last[0]+1 || total < c.last[1] {
		c.t.Errorf("%d of %d after %d of %d", done, total, c.last[0], c.last[1])
	}
	c.last, c.calls = [2]int{done, total}, c.calls+1
}

// TestASurveyIsTheSameHoweverManyWork: what is found, in which order, and the progress that is reported, does not depend on who is first.
func TestASurveyIsTheSameHoweverManyWork(t *testing.T) {
	const n = 40
	files := fleet(n)
	first := text(take(t, files, discover.Options{Kinds: kinds(), Workers: 1}))
	for range 3 {
		progress := &countedProgress{t: t}
		s := take(t, files, discover.Options{Kinds: kinds(), Workers: 8, Progress: progress})
		if diff := cmp.Diff(first, text(s)); diff != "" {
			t.Fatalf("another order (-first +now):\n%s", diff)
		}
		if progress.calls != n+1 || progress.last != [2]int{n + 1, n + 1} || len(s.Units) != n+2 {
			t.Errorf("%d calls, the last with %v; %d units", progress.calls, progress.last, len(s.Units))
		}
	}
}

func TestASurveyEndsWithItsContext(t *testing.T) {
	tree, err := disk.OpenTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	ctx, cancel := context.WithCancel(t.Context())
	s := discover.Options{Kinds: kinds(), Render: &render.Cached{Renderer: &kustomize.Renderer{}}}
	if _, err := discover.FindApps(ctx, tree.Snapshot(), s); err != nil {
		t.Fatal(err)
	}
	cancel()
	dir := t.TempDir()
	golden.Files(fleet(3)).Write(t, dir)
	full, err := disk.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	if _, err := discover.FindApps(ctx, full.Snapshot(), s); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// FuzzTake looks for apps in files of any content, beside one that is as it should be.
func FuzzTake(f *testing.F) {
	f.Add("a/kustomization.yaml", "resources: [../b, ../a]", "b/kustomization.yaml", "resources: [../a]")
	f.Add("a.yaml", application("web", "."), "kustomization.yaml", "namespace: x")
	f.Add("a.yaml", application("web", "../.."), "a/b.json", "{")
	f.Add("Chart.yaml", "", "templates/a.yaml", "{{")
	f.Add("x.yaml", "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: []\nspec: {path: [], sourceRef: 3}", "y.yaml", "---\n- 1\n--- !!x\n")
	f.Fuzz(func(t *testing.T, one, first, two, second string) {
		files := given.Files("good/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: good}\n")
		for name, text := range map[string]string{one: first, two: second} {
			if fs.ValidPath(name) && name != "." {
				files.Put(name, text)
			}
		}
		s, err := discover.FindApps(t.Context(), files, discover.Options{
			Kinds: kinds(), Workers: 2, Render: &render.Cached{Renderer: &kustomize.Renderer{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, u := range s.Units {
			if u.Err != nil && len(u.Objects) > 0 {
				t.Errorf("%s: objects beside an error", u.Name())
			}
		}
		if len(s.Units)+len(s.Skipped) == 0 {
			t.Error("the good file was passed over")
		}
	})
}
