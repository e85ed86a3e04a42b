package render_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
)

func newCached() *render.Cached {
	return &render.Cached{Renderer: &kustomize.Renderer{Plain: plain.Renderer{}}, Bytes: 64 << 20}
}

// apps are n overlays over one base.
func apps(n int) map[string]string {
	files := map[string]string{
		"base/kustomization.yaml": "resources: [web.yaml]\n",
		"base/web.yaml":           "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	}
	for i := range n {
		files[fmt.Sprintf("apps/%d/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: a%d-\nresources: [../../base, more.yaml]\n", i)
		files[fmt.Sprintf("apps/%d/more.yaml", i)] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\ndata: {n: \"1\"}\n"
	}
	return files
}

// rendered renders all apps and lists those that were built.
func rendered(t *testing.T, c *render.Cached, tree memTree, n int) []int {
	t.Helper()
	var built []int
	for i := range n {
		if render1(t, c, tree, fmt.Sprintf("apps/%d", i)).Rendered {
			built = append(built, i)
		}
	}
	return built
}

func render1(t *testing.T, c *render.Cached, tree memTree, path string) render.Result {
	t.Helper()
	res, err := c.Render(t.Context(), render.Request{Files: tree, Path: path})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestACommitRendersOnlyWhatItTouches(t *testing.T) {
	const n = 20
	c, first := newCached(), newTree(apps(n))
	if built := rendered(t, c, first, n); len(built) != n {
		t.Fatalf("built %v at first", built)
	}
	if built := rendered(t, c, first, n); len(built) != 0 {
		t.Errorf("the same revision built %v", built)
	}
	for what, next := range map[string]struct {
		files map[string]string
		want  []int
	}{
		"one app's file":      {map[string]string{"apps/7/more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n"}, []int{7}},
		"a file nobody reads": {map[string]string{"README.md": "hello", "apps/3/README.md": "hello"}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			tree := first.with(next.files)
			if diff := cmp.Diff(next.want, rendered(t, c, tree, n)); diff != "" {
				t.Error(diff)
			}
			if next.want == nil && tree.count.reads != 0 {
				t.Errorf("%d files were read to find that out", tree.count.reads)
			}
		})
	}
	t.Run("the shared base", func(t *testing.T) {
		tree := first.with(map[string]string{"base/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"})
		if built := rendered(t, c, tree, n); len(built) != n {
			t.Errorf("built %v", built)
		}
	})
}

func TestTheAbsenceOfAFileIsAnInput(t *testing.T) {
	c := newCached()
	first := newTree(map[string]string{"app/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "app/sub/b.txt": ""})
	before := render1(t, c, first, "app")
	for what, files := range map[string]map[string]string{
		"a kustomization file appears": {"app/kustomization.yaml": "namePrefix: x-\nresources: [a.yaml]\n"},
		"a manifest appears":           {"app/sub/c.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"},
		"a root appears below":         {"app/sub/Kustomization": "namePrefix: x-\nconfigMapGenerator: [{name: g}]\n"},
	} {
		t.Run(what, func(t *testing.T) {
			after := render1(t, c, first.with(files), "app")
			if !after.Rendered || after.Inputs == before.Inputs {
				t.Error("the old answer was given")
			}
			if back := render1(t, c, first, "app"); back.Rendered || back.Inputs != before.Inputs {
				t.Error("the way back was built again")
			}
		})
	}
}

func TestAFileThatWasLookedForInVainIsAnInput(t *testing.T) {
	c, first := newCached(), newTree(apps(1))
	render1(t, c, first, "apps/0")
	twin := first.with(map[string]string{"apps/0/Kustomization": "resources: []\n"})
	if _, err := c.Render(t.Context(), render.Request{Files: twin, Path: "apps/0"}); err == nil {
		t.Error("a second kustomization file went unseen")
	}
}

func TestTheRequestIsAnInput(t *testing.T) {
	c, tree := newCached(), newTree(apps(1))
	base := render.Request{Files: tree, Path: "apps/0"}
	seen := map[string]string{}
	for what, change := range map[string]func(*render.Request){
		"nothing":   func(*render.Request) {},
		"namespace": func(r *render.Request) { r.Namespace = "shop" },
		"prefix":    func(r *render.Request) { r.Overlay.NamePrefix = "x-" },
		"image": func(r *render.Request) {
			tag := "2"
			r.Overlay.Images = []overlay.Image{{Name: "more", NewTag: &tag}}
		},
		"kept image": func(r *render.Request) { r.Overlay.Images = []overlay.Image{{Name: "more"}} },
		"labels":     func(r *render.Request) { r.Overlay.Labels.Pairs = map[string]string{"a": "b"} },
		"directory":  func(r *render.Request) { r.Directory = &render.Directory{Include: "more.yaml"} },
	} {
		r := base
		change(&r)
		res, err := c.Render(t.Context(), r)
		if err != nil || !res.Rendered {
			t.Fatal(what, err, "cached")
		}
		if other, ok := seen[res.Inputs]; ok {
			t.Errorf("%s and %s have one digest", what, other)
		}
		seen[res.Inputs] = what
	}
}

func TestACallerCannotSpoilTheCache(t *testing.T) {
	c, tree := newCached(), newTree(apps(1))
	want := render1(t, c, tree, "apps/0")
	again := render1(t, c, tree, "apps/0")
	if diff := cmp.Diff(want.Objects, again.Objects); diff != "" {
		t.Fatal(diff)
	}
	again.Objects[0].Data.Metadata()["name"] = "spoilt"
	again.Reads[0].Sum = "spoilt"
	third := render1(t, c, tree, "apps/0")
	third.Rendered = true
	if diff := cmp.Diff(want, third); diff != "" {
		t.Error(diff)
	}
}

func TestTheCacheStaysWithinItsBytes(t *testing.T) {
	c, tree := newCached(), newTree(apps(10))
	c.Bytes = 6000
	for range 2 {
		rendered(t, c, tree, 10)
	}
	kept := 10 - len(rendered(t, c, tree, 10))
	if kept == 10 {
		t.Error("everything was kept")
	}
	c.Bytes = 0
	render1(t, c, tree, "apps/0")
}

func TestAFailedBuildIsNotKept(t *testing.T) {
	c := newCached()
	tree := newTree(map[string]string{"kustomization.yaml": "resources: [a.yaml]\n"})
	for range 2 {
		if _, err := c.Render(t.Context(), render.Request{Files: tree, Path: "."}); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
}

// momentary counts its renders, whose results hold for the moment.
type momentary struct{ renders int }

// Render implements render.Renderer.
func (m *momentary) Render(context.Context, render.Request) (render.Result, error) {
	m.renders++
	return render.Result{Rendered: true, Momentary: true}, nil
}

func TestWhatDependsOnTheClusterIsNotKept(t *testing.T) {
	m := &momentary{}
	c := &render.Cached{Renderer: m, Bytes: 1 << 20}
	for range 2 {
		if _, err := c.Render(t.Context(), render.Request{Files: newTree(nil), Path: "."}); err != nil {
			t.Fatal(err)
		}
	}
	if m.renders != 2 || c.Holds(render.Request{Files: newTree(nil), Path: "."}) {
		t.Errorf("rendered %d times", m.renders)
	}
}

// broken is a tree one of whose files cannot be identified.
type broken struct{ memTree }

var errBroken = errors.New("disk on fire")

func (broken) Sum(string) (string, error) { return "", errBroken }

func TestAnInputThatCannotBeIdentifiedIsAnError(t *testing.T) {
	_, err := newCached().Render(t.Context(), render.Request{Files: broken{newTree(apps(1))}, Path: "apps/0"})
	if !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

func TestReadsNameEveryInput(t *testing.T) {
	res := render1(t, newCached(), newTree(apps(1)), "apps/0")
	got := map[string]bool{}
	for _, r := range res.Reads {
		if r.Access == render.AccessContent {
			got[r.Path] = true
		}
	}
	want := map[string]bool{}
	for name := range maps.Keys(apps(1)) {
		want[name] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
