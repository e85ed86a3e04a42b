package basis_test

import (
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/basis"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func cached() *render.Cached {
	return &render.Cached{Renderer: &kustomize.Renderer{Plain: plain.Renderer{}}, Bytes: 1 << 20}
}

func shop() map[string]string {
	return map[string]string{
		"README.md":                     "of all\n",
		"base/kustomization.yaml":       "resources: [web.yaml]\n",
		"base/web.yaml":                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
		"apps/one/kustomization.yaml":   "namePrefix: one-\nresources: [../../base, more.yaml]\n",
		"apps/one/more.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n",
		"apps/two/kustomization.yaml":   "resources: [more.yaml]\n",
		"apps/two/more.yaml":            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: more}\n",
		"apps/plain/a.yaml":             "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"apps/plain/below/b.yaml":       "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
		"apps/one-more/not-of-one.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
	}
}

func basisOf(t *testing.T, files map[string]string, dir string) (basis.Basis, render.Request) {
	t.Helper()
	q := render.Request{Files: given.FilesOf(files), Path: dir}
	res, err := cached().Render(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	b, err := basis.FromReads(q, res.Reads, "v1")
	if err != nil || !b.IsKnown() || !b.Holds(q, "v1") {
		t.Fatalf("the basis of %s is %+v, %v", dir, b, err)
	}
	return b, q
}

// TestABasisIsAFewDirectories: the app's own, and the bases that it names.
func TestABasisIsAFewDirectories(t *testing.T) {
	for dir, want := range map[string][]string{"apps/one": {"apps/one", "base"}, "apps/two": {"apps/two"}, "apps/plain": {"apps/plain"}} {
		b, _ := basisOf(t, shop(), dir)
		if diff := cmp.Diff(want, b.Below); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
}

func TestWhatABasisHoldsFor(t *testing.T) {
	b, q := basisOf(t, shop(), "apps/one")
	with := func(name, text string) render.Request {
		files := shop()
		files[name] = text
		if text == "" {
			delete(files, name)
		}
		return render.Request{Files: given.FilesOf(files), Path: q.Path}
	}
	for name, c := range map[string]struct {
		q     render.Request
		holds bool
	}{
		"the same":                  {q, true},
		"a file of all":             {with("README.md", "other\n"), true},
		"another app":               {with("apps/two/more.yaml", "other\n"), true},
		"one of a similar name":     {with("apps/one-more/not-of-one.yaml", "other\n"), true},
		"a file of its own":         {with("apps/one/more.yaml", "other\n"), false},
		"a new file of its own":     {with("apps/one/third.yaml", "other\n"), false},
		"a base":                    {with("base/web.yaml", "other\n"), false},
		"a file less":               {with("base/web.yaml", ""), false},
		"another kustomization":     {with("apps/one/kustomization.yml", "resources: []\n"), false},
		"another directory":         {render.Request{Files: q.Files, Path: "apps/two"}, false},
		"another target namespace":  {render.Request{Files: q.Files, Path: q.Path, Namespace: "shop"}, false},
		"parts of several sources":  {render.Request{Files: q.Files, Path: q.Path, Parts: []render.Request{}}, false},
		"a tree without the base":   {render.Request{Files: given.FilesOf(map[string]string{"apps/one/more.yaml": "x\n"}), Path: q.Path}, false},
		"another order of the same": {render.Request{Files: given.FilesOf(shop()), Path: q.Path}, true},
	} {
		if got := b.Holds(c.q, "v1"); got != c.holds {
			t.Errorf("%s: holds %t, want %t", name, got, c.holds)
		}
	}
	if b.Holds(q, "v2") {
		t.Error("holds for another version of the program")
	}
	if b.Holds(q, "") {
		t.Error("holds where it is not known what else the objects depend on")
	}
	if (basis.Basis{}).Holds(q, "v1") {
		t.Error("an unknown basis holds")
	}
}

// TestWhatIsNotInTheFilesHasNoBasis: a remote base was read from elsewhere, and nothing is known of a render that says nothing of what it has read.
func TestWhatIsNotInTheFilesHasNoBasis(t *testing.T) {
	q := render.Request{Files: given.FilesOf(shop()), Path: "apps/one"}
	own, err := q.Files.Sum("apps/one/more.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if b, err := basis.FromReads(q, []render.Read{{Path: "apps/one/more.yaml", Access: render.AccessContent, Sum: own}}, "v1"); err != nil || !b.IsKnown() {
		t.Fatalf("the basis of one file is %+v, %v", b, err)
	}
	for name, reads := range map[string][]render.Read{
		"nothing":           nil,
		"another content":   {{Path: "apps/one/more.yaml", Access: render.AccessContent, Sum: "of what lies over it"}},
		"a remote base":     {{Path: "apps/one/more.yaml", Access: render.AccessContent, Sum: own}, {Path: "remote/base/web.yaml", Access: render.AccessContent, Sum: "2"}},
		"a file that comes": {{Path: "apps/one/more.yaml", Access: render.AccessContent, Sum: "absent"}},
	} {
		if b, err := basis.FromReads(q, reads, "v1"); err != nil || b.IsKnown() {
			t.Errorf("%s: %+v, %v", name, b, err)
		}
	}
}

// TestWhereABasisHoldsARenderGivesTheSame for random trees, and random changes of them.
func TestWhereABasisHoldsARenderGivesTheSame(t *testing.T) {
	texts := []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n", "resources: [x.yaml]\n",
		"resources: [x.yaml, ../base]\n", "resources: [../one/x.yaml]\n", "configMapGenerator:\n- {name: g, files: [x.yaml]}\n", "",
	}
	dirs, names := []string{"one", "two", "base", "one/below", "."}, []string{"x.yaml", "y.yaml", "kustomization.yaml", "Kustomization"}
	draw := func(t *rapid.T, into map[string]string, what string) {
		file := path.Join(rapid.SampledFrom(dirs).Draw(t, what), rapid.SampledFrom(names).Draw(t, "file"))
		if text := rapid.SampledFrom(texts).Draw(t, "text"); text != "" {
			into[file] = text
		} else {
			delete(into, file)
		}
	}
	rendered := func(files map[string]string, dir string) (render.Request, render.Result, error) {
		q := render.Request{Files: given.FilesOf(files), Path: dir}
		res, err := cached().Render(t.Context(), q)
		return q, res, err
	}
	var held, fell int
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{}
		for range rapid.IntRange(2, 9).Draw(t, "files") {
			draw(t, files, "dir")
		}
		dir := rapid.SampledFrom(dirs[:4]).Draw(t, "app")
		q, before, err := rendered(files, dir)
		if err != nil {
			return // there is nothing to be as before
		}
		b, err := basis.FromReads(q, before.Reads, "v1")
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			draw(t, files, "changed dir")
		}
		next, after, err := rendered(files, dir)
		if !b.Holds(next, "v1") {
			fell++
			return
		}
		held++
		if diff := cmp.Diff(before.Objects, after.Objects); err != nil || diff != "" {
			t.Fatalf("the basis %v holds, and a render gives something else: %v\n%s", b.Below, err, diff)
		}
	})
	const enough = 50 // of random changes, for both to have come; with -short there are fewer
	if held+fell >= enough && (held == 0 || fell == 0) {
		t.Errorf("held %d times, and %d times not", held, fell)
	}
}
