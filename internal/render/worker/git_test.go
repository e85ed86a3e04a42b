package worker

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// The real parts together: a repository, the cache, and worker processes.
func newShop(t testing.TB, apps int) (*gittest.Repo, func() source.Tree) {
	t.Helper()
	files := map[string]string{"base/kustomization.yaml": "resources: [web.yaml]\n", "base/web.yaml": configMap}
	for i := range apps {
		files[fmt.Sprintf("apps/%d/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: a%d-\nresources: [../../base]\n", i)
	}
	repo := gittest.New(t, files)
	store, err := git.OpenStore(git.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return repo, func() source.Tree {
		a, err := store.Fetch(t.Context(), source.Spec{URL: repo.URL, Ref: source.Ref{Branch: gittest.Main}})
		if err != nil {
			t.Fatal(err)
		}
		return a.Files
	}
}

func TestOneOfManyAppsInGitIsRenderedAgain(t *testing.T) {
	const apps = 100
	repo, fetch := newShop(t, apps)
	c := &render.Cached{Renderer: newPool(t, 2), Bytes: 64 << 20}
	built := func() (all []int) {
		t.Helper()
		tree := fetch()
		for i := range apps {
			res, err := c.Render(t.Context(), render.Request{Files: tree, Path: fmt.Sprintf("apps/%d", i)})
			if err != nil {
				t.Fatal(err)
			}
			if res.Rendered {
				all = append(all, i)
			}
		}
		return all
	}
	if got := built(); len(got) != apps {
		t.Fatalf("built %v at first", got)
	}
	repo.Commit(map[string]string{"apps/42/kustomization.yaml": "namePrefix: other-\nresources: [../../base]\n", "docs/x.md": "x"}, "touch one")
	if diff := cmp.Diff([]int{42}, built()); diff != "" {
		t.Error(diff)
	}
}

func TestLinksStayInsideTheSource(t *testing.T) {
	repo, fetch := newShop(t, 1)
	repo.Symlink("in/kustomization.yaml", "../apps/0/kustomization.yaml")
	repo.Symlink("through", "apps")
	repo.Symlink("plain/a.yaml", "/etc/hostname")
	repo.Symlink("out/kustomization.yaml", "../../../../etc/passwd")
	repo.Symlink("outdir", "/etc")
	repo.Commit(map[string]string{"uses/kustomization.yaml": "resources:\n- ../outdir/hosts.yaml\n"}, "uses")
	tree, p := fetch(), newPool(t, 1)
	for path, want := range map[string]string{
		"through/0": "",
		"plain":     "plain/a.yaml",
		"out":       "out/kustomization.yaml",
		"uses":      "uses/kustomization.yaml:2",
	} {
		_, err := p.Render(t.Context(), render.Request{Files: tree, Path: path})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want one about %q", path, err, want)
		}
	}
}

func BenchmarkCacheHitAfterACommitElsewhere(b *testing.B) {
	repo, fetch := newShop(b, 100)
	c := &render.Cached{Renderer: newPool(b, 1), Bytes: 64 << 20}
	r := render.Request{Files: fetch(), Path: "apps/7"}
	if _, err := c.Render(b.Context(), r); err != nil {
		b.Fatal(err)
	}
	repo.Commit(map[string]string{"docs/x.md": "x"}, "elsewhere")
	r.Files = fetch()
	for b.Loop() {
		res, err := c.Render(b.Context(), r)
		if err != nil || res.Rendered {
			b.Fatal(err, res.Rendered)
		}
	}
}

// Deployment and patch, as the reference figures have it: 2.9 ms in memory without a process between.
func BenchmarkDeploymentAndPatch(b *testing.B) {
	tree := given.Files("kustomization.yaml", "resources: [d.yaml]\npatches: [{path: p.yaml}]\n", "d.yaml", deployment,
		"p.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n")
	p := newPool(b, 1)
	for b.Loop() {
		if _, err := p.Render(b.Context(), render.Request{Files: tree, Path: "."}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPlainDeployment(b *testing.B) {
	tree, p := given.Files("d.yaml", deployment), newPool(b, 1)
	for b.Loop() {
		if _, err := p.Render(b.Context(), render.Request{Files: tree, Path: "."}); err != nil {
			b.Fatal(err)
		}
	}
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: shop/web:1
        ports:
        - containerPort: 80
        resources:
          limits: {cpu: 500m, memory: 1Gi}
`
