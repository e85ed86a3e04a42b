package remote_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/render/remote"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/disk"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {by: %s}\n"

// yard is a directory of this machine, and what renders it.
type yard struct {
	t     *testing.T
	store *git.Store
	dir   string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	store, err := git.OpenStore(git.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &yard{t, store, t.TempDir()}
}

func (y *yard) write(name, text string) {
	y.t.Helper()
	name = filepath.Join(y.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		y.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		y.t.Fatal(err)
	}
}

// bases are those of the yard, with the tree that holds them.
func (y *yard) bases(o remote.Options) (*remote.Bases, source.Tree) {
	y.t.Helper()
	tree, err := disk.OpenTree(y.dir)
	if err != nil {
		y.t.Fatal(err)
	}
	y.t.Cleanup(func() { _ = tree.Close() })
	o.Render = &render.Cached{Renderer: &kustomize.Renderer{Plain: plain.Renderer{}}}
	if o.Why == "" {
		o.Fetch = y.store
	}
	o.Hosts, o.Dir = upstream.Hosts{Reach: upstream.ReachAny}, y.t.TempDir()
	b := remote.NewBases(o)
	return b, b.Over(tree.Snapshot())
}

// rendered prints the objects of a directory with their places, or the error.
func rendered(t *testing.T, b *remote.Bases, files source.Tree, dir string) string {
	t.Helper()
	r, err := b.Render(t.Context(), render.Request{Files: files, Path: dir})
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, o := range r.Objects {
		out = append(out, fmt.Sprintf("%s by %v at %s:%d", o.Data.Name(), o.Data.At("data", "by"), o.File, o.Line))
	}
	return strings.Join(out, "\n")
}

// serve serves a repository over HTTP; its place in trees is the second result.
func serve(t *testing.T, r *gittest.Repo) (*gittest.HTTPServer, string) {
	t.Helper()
	s := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	return s, ".remote-bases/" + strings.Replace(s.URL, "://", "/", 1)
}

func TestABaseIsFetchedAtItsReferenceAndBuilt(t *testing.T) {
	repo := gittest.New(t, map[string]string{
		"deploy/kustomization.yaml": "resources: [../shared, web.yaml]\nnamePrefix: a-\n",
		"deploy/web.yaml":           fmt.Sprintf(configMap, "web", "first"),
		"shared/kustomization.yaml": "resources: [one.yaml]\n",
		"shared/one.yaml":           fmt.Sprintf(configMap, "one", "first"),
		".sourceignore":             "shared/\n",
	})
	repo.Tag("v1", "")
	repo.Commit(map[string]string{"deploy/web.yaml": fmt.Sprintf(configMap, "web", "second")}, "second")
	server, place := serve(t, repo)
	y := newYard(t)
	y.write("app/kustomization.yaml", "resources:\n- "+server.URL+"//deploy?ref=v1\nnameSuffix: -b\n")
	y.write("over/kustomization.yaml", "resources:\n- ../app\n")
	y.write("main/kustomization.yaml", "resources:\n- "+server.URL+"//deploy?ref=main\n")
	y.write("head/kustomization.yaml", "resources:\n- git::"+server.URL+"/deploy\n")
	b, files := y.bases(remote.Options{})

	v1 := fmt.Sprintf("a-one-b by first at %[1]s@v1/shared/one.yaml:1\na-web-b by first at %[1]s@v1/deploy/web.yaml:1", place)
	for dir, want := range map[string]string{
		"app": v1, "over": v1,
		"main": strings.NewReplacer("-b ", " ", "@v1", "@main", "web-b by first", "web by second").Replace(v1),
		"head": strings.NewReplacer("-b ", " ", "@v1", "@HEAD", "web-b by first", "web by second").Replace(v1),
	} {
		if diff := cmp.Diff(want, rendered(t, b, files, dir)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", dir, diff)
		}
	}
	if list, err := files.Open("."); err != nil {
		t.Error(err)
	} else if entries, _ := os.ReadDir(y.dir); len(entries) != 4 {
		t.Errorf("written on disk: %v", entries)
	} else if err := list.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatManyAsForIsFetchedOnce(t *testing.T) {
	repo := gittest.New(t, map[string]string{"kustomization.yaml": "resources: [web.yaml]\n", "web.yaml": fmt.Sprintf(configMap, "web", "first")})
	server, _ := serve(t, repo)
	y := newYard(t)
	for i := range 8 {
		y.write(fmt.Sprintf("%d/kustomization.yaml", i), "resources:\n- "+server.URL+"?ref=main\n")
	}
	b, files := y.bases(remote.Options{})
	if got := rendered(t, b, files, "0"); !strings.HasPrefix(got, "web by first") {
		t.Fatal(got)
	}
	one := server.Requests()
	repo.Commit(map[string]string{"web.yaml": fmt.Sprintf(configMap, "web", "second")}, "second")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if got := rendered(t, b, files, fmt.Sprint(i)); !strings.HasPrefix(got, "web by first") {
				t.Error(got)
			}
		})
	}
	all.Wait()
	if got := server.Requests(); got != one {
		t.Errorf("%d requests in all, %d for the first", got, one)
	}
	b, files = y.bases(remote.Options{})
	for i := range 8 {
		all.Go(func() {
			if got := rendered(t, b, files, fmt.Sprint(i)); !strings.HasPrefix(got, "web by second") {
				t.Error(got)
			}
		})
	}
	all.Wait()
	const look, byGit = 1, 3 // the clone is still here: it asks first whether main has moved
	if got := server.Requests(); got > one+look+byGit {
		t.Errorf("%d requests for one look and one fetch by git", got-one)
	}
}

func TestWhatCannotBeFetchedIsToldWhereItIsNamed(t *testing.T) {
	good := gittest.New(t, map[string]string{
		"up/kustomization.yaml":    "resources: [../../../../../secret.yaml]\n",
		"link/kustomization.yaml":  "resources: [web.yaml]\n",
		"here/kustomization.yaml":  "resources: ['file:///etc//x']\n",
		"torn/kustomization.yaml":  "resources: [a.yaml]\n",
		"torn/a.yaml":              "a: [\n",
		"plain/readme":             "nothing\n",
		"other/kustomization.yaml": "resources: [web.yaml]\n",
		"other/web.yaml":           fmt.Sprintf(configMap, "web", "other"),
	})
	good.Symlink("link/web.yaml", "../../../../../secret.yaml")
	server, place := serve(t, good)
	asks := gittest.ServeHTTP(t, good, gittest.HTTPOptions{Username: "me", Password: "secret"})
	away := gittest.ServeHTTP(t, good, gittest.HTTPOptions{Hook: func(_ int, w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "http://localhost:1/elsewhere.git/info/refs?service=git-upload-pack", http.StatusFound)
		return true
	}})
	y := newYard(t)
	y.write("secret.yaml", fmt.Sprintf(configMap, "mine", "mine"))
	cases := map[string]struct{ entry, want string }{
		"absent":   {server.URL + "//nowhere?ref=main", "has no directory nowhere"},
		"ref":      {server.URL + "//up?ref=v9", `neither a branch nor a tag is called "v9"`},
		"option":   {server.URL + "//up?ref=--upload-pack=x", "it is not" /* replaced below */},
		"gone":     {"http://127.0.0.1:1/org/repo//x", "fetch http://127.0.0.1:1/org/repo: "},
		"up":       {server.URL + "//up?ref=main", place + "@main/up/kustomization.yaml:1: ../../../../../secret.yaml: path leads out of the source"},
		"link":     {server.URL + "//link?ref=main", "leads out of the tree"},
		"here":     {server.URL + "//here?ref=main", "a repository from elsewhere names one of this machine"},
		"torn":     {server.URL + "//torn?ref=main", place + "@main/torn/a.yaml:"},
		"plain":    {server.URL + "//plain?ref=main", "no kustomization file"},
		"file":     {server.URL + "//other/web.yaml?ref=main", "other/web.yaml is a file there"},
		"asks":     {asks.URL + "//other", "only what anybody may read is fetched"},
		"away":     {away.URL + "//other", "the server redirects to http://localhost:1;"},
		"yaml":     {"https://127.0.0.1:1/a/b/install.yaml", "get https://127.0.0.1:1/a/b/install.yaml: dial tcp 127.0.0.1:1: connect: connection refused"},
		"ssh":      {"git@127.0.0.1:org/repo.git//x", "no SSH identity is given"},
		"password": {"https://me:hush@git.example/org/repo", "it holds a user"},
	}
	c := cases["option"]
	c.want = `begins with "-"`
	cases["option"] = c
	for dir, c := range cases {
		y.write(dir+"/kustomization.yaml", "resources:\n- "+c.entry+"\n")
	}
	y.write("good/kustomization.yaml", "resources:\n- "+server.URL+"//other?ref=main\n")
	b, files := y.bases(remote.Options{Local: true})
	for dir, c := range cases {
		got := rendered(t, b, files, dir)
		if !strings.Contains(got, c.want) || strings.Contains(got, "hush") || strings.Contains(got, "by mine") {
			t.Errorf("%s: %s\nwant %q in it", dir, got, c.want)
		}
		if first := "render " + dir + ": " + dir + "/kustomization.yaml:2: "; !slices.Contains([]string{"up", "here", "torn", "link"}, dir) && !strings.HasPrefix(got, first) {
			t.Errorf("%s: %s\nis not told at the entry", dir, got)
		}
	}
	if got := rendered(t, b, files, "good"); !strings.HasPrefix(got, "web by other") {
		t.Error(got)
	}
}

func TestRepositoriesMayNameEachOther(t *testing.T) {
	one, two := gittest.New(t, map[string]string{"x": "x"}), gittest.New(t, map[string]string{"x": "x"})
	first, _ := serve(t, one)
	second, place := serve(t, two)
	one.Commit(map[string]string{
		"a/kustomization.yaml": "resources:\n- " + second.URL + "//b?ref=main\nnamePrefix: a-\n",
		"c/kustomization.yaml": "resources:\n- " + second.URL + "//d?ref=main\n",
	}, "names the other")
	two.Commit(map[string]string{
		"b/kustomization.yaml": "resources: [web.yaml]\n", "b/web.yaml": fmt.Sprintf(configMap, "web", "two"),
		"d/kustomization.yaml": "resources:\n- " + first.URL + "//c?ref=main\n",
	}, "names the first")
	y := newYard(t)
	y.write("chain/kustomization.yaml", "resources:\n- "+first.URL+"//a?ref=main\n")
	y.write("circle/kustomization.yaml", "resources:\n- "+first.URL+"//c?ref=main\n")
	b, files := y.bases(remote.Options{})
	if want, got := "a-web by two at "+place+"@main/b/web.yaml:1", rendered(t, b, files, "chain"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := rendered(t, b, files, "circle"); !strings.Contains(got, ": cycle: ") {
		t.Error(got)
	}
	b, files = y.bases(remote.Options{Most: 1})
	if got := rendered(t, b, files, "chain"); !strings.Contains(got, "1 resources are fetched already: limit exceeded") {
		t.Error(got)
	}
	b, files = y.bases(remote.Options{Limits: source.Limits{Files: 1}})
	if got := rendered(t, b, files, "chain"); !strings.Contains(got, "files") {
		t.Error(got)
	}
}

func TestNothingIsFetchedUnlessItIsAsked(t *testing.T) {
	repo := gittest.New(t, map[string]string{"kustomization.yaml": "resources: []\n"})
	server, _ := serve(t, repo)
	y := newYard(t)
	y.write("app/kustomization.yaml", "resources:\n- "+server.URL+"\n")
	y.write("here/kustomization.yaml", "resources:\n- "+repo.URL+"\n")
	b, files := y.bases(remote.Options{Why: "nobody asked"})
	if got := rendered(t, b, files, "app"); got != "render app: app/kustomization.yaml:2: "+server.URL+": nobody asked" {
		t.Error(got)
	}
	if n := server.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
	b, files = y.bases(remote.Options{})
	if got := rendered(t, b, files, "here"); !strings.Contains(got, "it is a repository of this machine") {
		t.Error(got)
	}
}
