package git_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// addModule records a submodule at a path, with a URL.
func addModule(r *gittest.Repo, path, url, commit string) {
	r.Commit(map[string]string{".gitmodules": fmt.Sprintf("[submodule \"the %s\"]\n\tpath = %s\n\turl = %s\n", path, path, url)}, "name "+path)
	r.Submodule(path, commit)
}

// beside lets the server of one repository serve another one too.
func beside(t *testing.T, served, other *gittest.Repo, name string) {
	t.Helper()
	if err := os.Symlink(other.Dir, filepath.Join(filepath.Dir(served.Dir), name)); err != nil {
		t.Fatal(err)
	}
}

// filesOf reads a whole tree.
func filesOf(t *testing.T, tree source.Tree) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSubmodulesAreInTheTreeAtTheirCommits(t *testing.T) {
	base := gittest.New(t, map[string]string{"base.yaml": "base"})
	lib := gittest.New(t, map[string]string{"lib.yaml": "lib"})
	lib.Symlink("top", "../../top.yaml")
	addModule(lib, "nested/base", "../base.git", base.Head())
	top := gittest.New(t, map[string]string{"top.yaml": "top"})
	addModule(top, "modules/lib", "../lib.git", lib.Head())
	beside(t, top, lib, "lib.git")
	beside(t, top, base, "base.git")
	web := gittest.ServeHTTP(t, top, gittest.HTTPOptions{Username: "user", Password: canary})
	shell := gittest.ServeSSH(t, top)
	base.Commit(map[string]string{"base.yaml": "newer"}, "not recorded")
	want := map[string]string{"top.yaml": "top", "modules/lib/lib.yaml": "lib", "modules/lib/top": "top", "modules/lib/nested/base/base.yaml": "base"}
	for name, spec := range map[string]source.Spec{
		"HTTP": {URL: web.URL, Auth: source.Auth{Username: "user", Password: canary}},
		"SSH":  {URL: shell.URL, Auth: source.Auth{Identity: shell.Identity, KnownHosts: shell.KnownHosts}},
		"path": {URL: filepath.Dir(top.Dir) + "/repo.git"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			spec.Ref, spec.Submodules = source.Ref{Branch: "main"}, true
			a := fetch(t, s, spec)
			if diff := cmp.Diff(want, filesOf(t, a.Files)); diff != "" {
				t.Error(diff)
			}
			if sum, err := a.Files.Sum("modules/lib/nested"); err != nil || sum == "" {
				t.Errorf("sum of a directory in a submodule: %q, %v", sum, err)
			}
			spec.Submodules = false
			if without := fetch(t, s, spec); without.Digest == a.Digest || without.Revision != a.Revision {
				t.Errorf("with submodules %s %s, without %s %s", a.Revision, a.Digest, without.Revision, without.Digest)
			}
		})
	}
}

func TestSubmodulesThatHaveNotMovedAreNotAskedFor(t *testing.T) {
	lib, top := gittest.New(t, map[string]string{"lib.yaml": "1"}), gittest.New(t, map[string]string{"top.yaml": "top"})
	libs := gittest.ServeHTTP(t, lib, gittest.HTTPOptions{})
	addModule(top, "lib", libs.URL, lib.Head())
	s := newStore(t)
	spec := mainOf(gittest.ServeHTTP(t, top, gittest.HTTPOptions{}).URL)
	spec.Submodules = true
	first := fetch(t, s, spec)
	before := libs.Requests()
	if again := fetch(t, s, spec); again.Digest != first.Digest || libs.Requests() != before {
		t.Errorf("%d requests for a submodule that has not moved", libs.Requests()-before)
	}
	if err := s.Retain([]source.Artifact{first}, 0); err != nil {
		t.Fatal(err)
	}
	if got := filesOf(t, first.Files)["lib/lib.yaml"]; got != "1" {
		t.Errorf("after Retain the artifact in use has %q", got)
	}
	if err := s.Retain(nil, 0); err != nil {
		t.Fatal(err)
	}
	if got := filesOf(t, fetch(t, s, spec).Files)["lib/lib.yaml"]; got != "1" {
		t.Errorf("when the clones were removed the next fetch has %q", got)
	}
	top.Submodule("lib", lib.Commit(map[string]string{"lib.yaml": "2"}, "second"))
	if got := filesOf(t, fetch(t, s, spec).Files)["lib/lib.yaml"]; got != "2" {
		t.Errorf("the submodule stands at another commit, and the file has %q", got)
	}
}

// Apps of one repository share its trees, of which few are kept.
func TestManyAppsOfARepositoryKeepItsSubmodules(t *testing.T) {
	lib, top := gittest.New(t, map[string]string{"lib.yaml": "1"}), gittest.New(t, map[string]string{"top.yaml": "top"})
	addModule(top, "lib", "../lib.git", lib.Head())
	beside(t, top, lib, "lib.git")
	s := newStore(t)
	var apps sync.WaitGroup
	for app := range 24 {
		apps.Go(func() {
			spec := source.Spec{URL: top.Dir, Submodules: true, Ref: source.Ref{Branch: "main"}, Ignore: fmt.Sprintf("/none-%d", app%12)}
			for range 20 {
				a, err := s.Fetch(t.Context(), spec)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := fs.Stat(a.Files, "lib/lib.yaml"); err != nil {
					t.Errorf("app %d: %v", app, err)
					return
				}
			}
		})
	}
	apps.Wait()
}

func TestCredentialsDoNotReachASubmoduleOfAnotherServer(t *testing.T) {
	lib, top := gittest.New(t, map[string]string{"lib.yaml": "lib"}), gittest.New(t, map[string]string{"top.yaml": "top"})
	var sent []string
	other := gittest.ServeHTTP(t, lib, gittest.HTTPOptions{Hook: func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		sent = append(sent, r.Header.Get("Authorization"))
		return false
	}})
	addModule(top, "lib", other.URL, lib.Head())
	spec := mainOf(gittest.ServeHTTP(t, top, gittest.HTTPOptions{Username: "user", Password: canary}).URL)
	spec.Auth, spec.Submodules = source.Auth{Username: "user", Password: canary}, true
	fetch(t, newStore(t), spec)
	if text := strings.Join(sent, ""); len(sent) == 0 || text != "" {
		t.Errorf("the other server was sent %q in %d requests", text, len(sent))
	}
}

func TestASubmoduleThatCannotBeFetchedIsNamed(t *testing.T) {
	private := gittest.New(t, map[string]string{"a": "1"})
	closed := gittest.ServeHTTP(t, private, gittest.HTTPOptions{Username: "other", Password: canary})
	for name, tc := range map[string]struct {
		url, commit string
		reason      source.Reason
		want        string
	}{
		"wants credentials":  {closed.URL, private.Head(), source.AuthenticationFailed, "git wants credentials, and none are given"},
		"has a secret":       {strings.Replace(closed.URL, "://", "://other:x"+canary+"@", 1), private.Head(), source.AuthenticationFailed, "git rejected the credentials in the URL"},
		"no such commit":     {"../repo.git", strings.Repeat("5", 40), source.RefNotFound, "commit " + strings.Repeat("5", 40)},
		"of this machine":    {"file:///srv/lib.git", private.Head(), source.URLInvalid, "a directory of the controller's machine"},
		"an absolute path":   {private.Dir, private.Head(), source.URLInvalid, "a directory of the controller's machine"},
		"out of the server":  {"../../..", private.Head(), source.URLInvalid, "leads out of the server's directories"},
		"a helper":           {"ext::sh -c touch% /tmp/x", private.Head(), source.URLInvalid, "are not allowed"},
		"a private address":  {"http://10.1.2.3/lib.git", private.Head(), source.HostNotAllowed, "--allow-source-hosts"},
		"a metadata service": {"http://169.254.169.254/lib.git", private.Head(), source.HostNotAllowed, "--allow-source-hosts"},
		"SSH without a key":  {"ssh://git@127.0.0.1/lib.git", private.Head(), source.AuthenticationFailed, "no SSH identity is given"},
	} {
		t.Run(name, func(t *testing.T) {
			top := gittest.New(t, map[string]string{"top.yaml": "top"})
			addModule(top, "modules/lib", tc.url, tc.commit)
			spec := mainOf(gittest.ServeHTTP(t, top, gittest.HTTPOptions{}).URL)
			spec.Submodules = true
			s := storeFor(t, filepath.Join(t.TempDir(), "store"), egress.Policy{Allowed: []string{"127.0.0.0/8"}})
			text := refused(t, s, spec, tc.reason)
			if !strings.Contains(text, "submodule modules/lib") || !strings.Contains(text, tc.want) || strings.Contains(text, canary) {
				t.Error(text)
			}
			t.Log(text)
			if name != "has a secret" {
				return
			}
			spec.Sparse = "elsewhere" // one that is not wanted is not fetched
			top.Commit(map[string]string{"elsewhere/a": "1"}, "beside the submodule")
			fetch(t, s, spec)
		})
	}
}

func TestLimitsHoldForSubmodulesToo(t *testing.T) {
	lib, top := gittest.New(t, map[string]string{"a": "1", "b": "2", "c": "3"}), gittest.New(t, map[string]string{"top.yaml": "top"})
	addModule(top, "lib", "../lib.git", lib.Head())
	beside(t, top, lib, "lib.git")
	spec := mainOf(top.Dir)
	spec.Submodules, spec.Limits = true, source.Limits{Files: 3}
	if text := refused(t, newStore(t), spec, source.LimitExceeded); !strings.Contains(text, "more than 3 files") {
		t.Error(text)
	}
	deep := gittest.New(t, map[string]string{"a": "1"})
	for range 12 { // each commit holds the one before
		addModule(deep, "again", "../repo.git", deep.Head())
	}
	spec = mainOf(deep.Dir)
	spec.Submodules = true
	begin := time.Now()
	if text := refused(t, newStore(t), spec, source.LimitExceeded); !strings.Contains(text, "nested deeper than 10") {
		t.Errorf("%s, after %s", text, time.Since(begin))
	}
}

func TestOnlyTheDirectoriesThatAreAskedForAreInTheTree(t *testing.T) {
	r := gittest.New(t, map[string]string{
		"top.yaml": "1", ".sourceignore": "*.txt\n", "apps/web/a.yaml": "2", "apps/web/a.txt": "3", "apps/db/a.yaml": "4", "apps2/a.yaml": "5", "base/a.yaml": "6",
	})
	s := newStore(t)
	for sparse, want := range map[string][]string{
		"apps":                 {"apps/db/a.yaml", "apps/web/a.txt", "apps/web/a.yaml"}, // the file of the top is not in it, so its rules do not hold
		"apps\napps/db\nbase":  {"apps/db/a.yaml", "apps/web/a.txt", "apps/web/a.yaml", "base/a.yaml"},
		"base\napps2\napps/db": {"apps/db/a.yaml", "apps2/a.yaml", "base/a.yaml"},
	} {
		spec := mainOf(r.URL)
		spec.Sparse = sparse
		var got []string
		for path := range filesOf(t, fetch(t, s, spec).Files) {
			got = append(got, path)
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("sorted", sortedNames)); diff != "" {
			t.Errorf("%q: %s", sparse, diff)
		}
	}
	spec := mainOf(r.URL)
	spec.Sparse = "apps\nap"
	if text := refused(t, s, spec, source.RefNotFound); !strings.Contains(text, `the directory "ap" of spec.sparseCheckout is not in the repository`) {
		t.Error(text)
	}
}

func sortedNames(names []string) string {
	return strings.Join(slices.Sorted(slices.Values(names)), " ")
}
