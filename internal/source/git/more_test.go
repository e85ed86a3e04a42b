package git_test

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestRepositoriesOfTheOtherHashAreReadToo(t *testing.T) {
	r := gittest.New(t, nil)
	if err := os.RemoveAll(r.Dir); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", "--bare", "-b", "main", "--object-format=sha256", r.Dir).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	r.Commit(map[string]string{"a": "1"}, "first")
	for form, way := range everyTransport(t, r) {
		for range 2 {
			want := r.Commit(map[string]string{"a": form}, "next")
			a := fetch(t, way.store, way.spec(source.Ref{Branch: "main"}))
			if got, err := fs.ReadFile(a.Files, "a"); a.Revision != "main@sha256:"+want || err != nil || string(got) != form {
				t.Errorf("%s: %s, %q, %v", form, a.Revision, got, err)
			}
		}
	}
}

func TestAPathMayHaveAnyCharacterThatAServerTakes(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	dir := filepath.Join(filepath.Dir(r.Dir), "a'$(id)' b;c.git")
	if err := os.Rename(r.Dir, dir); err != nil {
		t.Fatal(err)
	}
	r.Dir = dir
	for form, way := range everyTransport(t, r) {
		if form != "ssh" {
			continue
		}
		way.url = strings.NewReplacer(" ", "%20").Replace(way.url)
		fetch(t, way.store, way.spec(source.Ref{Branch: "main"}))
	}
	fetch(t, newStore(t), mainOf(dir))
}

func TestAnAttackNeverReachesTheShell(t *testing.T) {
	planted := filepath.Join(t.TempDir(), "ran")
	s := newStore(t)
	auth := source.Auth{Identity: "x", KnownHosts: "x"}
	for _, url := range []string{
		"--upload-pack=touch " + planted, "ext::touch " + planted, "file://-oProxyCommand=touch " + planted, "ssh://-oProxyCommand=touch " + planted + "/a",
		"-oProxyCommand=touch " + planted + ":a", "git@-oProxyCommand=touch " + planted + ":a", "fd::" + planted,
	} {
		spec := mainOf(url)
		spec.Auth = auth
		refused(t, s, spec, source.URLInvalid)
	}
	if _, err := os.Stat(planted); err == nil {
		t.Error("a command ran")
	}
}

func TestManyPacksAreFoldedIntoOne(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "0"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	dir := filepath.Join(t.TempDir(), "store")
	s, err := git.OpenStore(git.Options{Dir: dir, Servers: loopback})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	first := fetch(t, s, mainOf(server.URL))
	second := r.Commit(map[string]string{"a": "1", "b": "1"}, "next")
	fetch(t, s, mainOf(server.URL))
	copyPacks(t, onlyClone(t, dir), 50) // as that many fetches leave them
	r.Commit(map[string]string{"a": "2"}, "newest")
	newest := fetch(t, s, mainOf(server.URL))
	packs, err := filepath.Glob(filepath.Join(dir, "clones/*/objects/pack/*.pack"))
	if err != nil || len(packs) > 10 {
		t.Errorf("%d packs, %v", len(packs), err)
	}
	if got, err := fs.ReadFile(first.Files, "a"); err != nil || string(got) != "0" {
		t.Errorf("the first tree: %q, %v", got, err)
	}
	if got, err := fs.ReadFile(newest.Files, "a"); err != nil || string(got) != "2" {
		t.Errorf("the newest tree: %q, %v", got, err)
	}
	if got := fetch(t, s, source.Spec{URL: server.URL, Ref: source.Ref{Commit: second}}); got.Commit != second {
		t.Errorf("the commit between: %s", got.Revision)
	}
}

// copyPacks has a clone hold so many packs more.
func copyPacks(t *testing.T, clone string, count int) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(clone, "objects/pack/*.pack"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for n := range count {
		for _, kind := range []string{".pack", ".idx"} {
			data, err := os.ReadFile(strings.TrimSuffix(found[0], ".pack") + kind)
			must(t, err)
			must(t, os.WriteFile(filepath.Join(filepath.Dir(found[0]), fmt.Sprintf("pack-%040d%s", n, kind)), data, 0o400))
		}
	}
}

func TestManyReadersShareOneTree(t *testing.T) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = fmt.Sprint(i)
	}
	r := gittest.New(t, files)
	tree := fetch(t, newStore(t), mainOf(r.URL)).Files
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for path, want := range files {
				if got, err := fs.ReadFile(tree, path); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", path, got, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestAReaderThatDiesIsReplaced(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1", "b": "2"})
	tree := fetch(t, newStore(t), mainOf(r.URL)).Files
	killed := 0
	for _, pid := range readers(t, r.Dir) {
		if err := pid.Kill(); err != nil {
			t.Fatal(err)
		}
		killed++
	}
	if killed != 1 {
		t.Errorf("%d readers, want one", killed)
	}
	for path, want := range map[string]string{"a": "1", "b": "2"} {
		if got, err := fs.ReadFile(tree, path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}

// readers are the processes that read objects of a repository.
func readers(t *testing.T, dir string) (found []*os.Process) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(environ), "GIT_DIR="+dir) {
			continue // it has ended, or is another's
		}
		var pid int
		if _, err := fmt.Sscanf(file, "/proc/%d/environ", &pid); err != nil {
			t.Fatal(err)
		}
		p, err := os.FindProcess(pid)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
	return found
}

func TestAClosedStoreSaysSo(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": strings.Repeat("1", 1<<20)}) // it is not read with the list
	s, err := git.OpenStore(git.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	tree := fetch(t, s, mainOf(r.URL)).Files
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if len(readers(t, r.Dir)) != 0 {
		t.Error("a reader is left")
	}
	if _, err := fs.ReadFile(tree, "a"); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Error(err)
	}
	refused(t, s, mainOf(r.URL), source.GitOperationFailed)
}

func BenchmarkFetch(b *testing.B) {
	files := map[string]string{}
	for i := range 10_000 {
		files[fmt.Sprintf("apps/app%d/f%d.yaml", i/10, i%10)] = strings.Repeat(fmt.Sprintf("line %d\n", i), 40)
	}
	r := gittest.New(b, files)
	s := newStore(b)
	b.Run("nothing new", func(b *testing.B) {
		for b.Loop() {
			fetch(b, s, mainOf(r.URL))
		}
	})
	b.Run("new commit of 10000 files", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			r.Commit(map[string]string{"apps/app1/f1.yaml": fmt.Sprint(i)}, "next")
			b.StartTimer()
			fetch(b, s, mainOf(r.URL))
		}
	})
	b.Run("read 10 files", func(b *testing.B) {
		tree := fetch(b, s, mainOf(r.URL)).Files
		for i := 0; b.Loop(); i++ {
			for f := range 10 {
				if _, err := fs.ReadFile(tree, fmt.Sprintf("apps/app%d/f%d.yaml", i%1000, f)); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	server := gittest.ServeHTTP(b, r, gittest.HTTPOptions{})
	b.Run("poll over http", func(b *testing.B) {
		for b.Loop() {
			fetch(b, s, mainOf(server.URL))
		}
	})
}
