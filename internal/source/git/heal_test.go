package git_test

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// damage is what a crash, a full disk or a failing one leaves in a clone.
var damage = map[string]func(t *testing.T, clone string){
	"a pack with a flipped bit in each block": eachFile("objects/pack/*.pack", func(b []byte) []byte {
		for i := 16; i < len(b)-20; i += 16 {
			b[i] ^= 0x10
		}
		return b
	}),
	"a pack with one flipped bit":      eachFile("objects/pack/*.pack", func(b []byte) []byte { b[len(b)-30] ^= 1; return b }),
	"a pack cut off":                   eachFile("objects/pack/*.pack", func(b []byte) []byte { return b[:len(b)/2] }),
	"an empty pack":                    eachFile("objects/pack/*.pack", empty),
	"a pack of zeros":                  eachFile("objects/pack/*.pack", zeros),
	"no pack":                          eachFile("objects/pack/*.pack", nil),
	"no index":                         eachFile("objects/pack/*.idx", nil),
	"an empty index":                   eachFile("objects/pack/*.idx", empty),
	"an index of zeros":                eachFile("objects/pack/*.idx", zeros),
	"an index cut off":                 eachFile("objects/pack/*.idx", func(b []byte) []byte { return b[:len(b)-30] }),
	"an empty reference":               eachFile("refs/truce/*", empty),
	"a reference that is none":         eachFile("refs/truce/*", func([]byte) []byte { return []byte("none\n") }),
	"a reference to what is not there": eachFile("refs/truce/*", func([]byte) []byte { return []byte(strings.Repeat("ab", 20) + "\n") }),
	"no references":                    func(t *testing.T, clone string) { must(t, os.RemoveAll(filepath.Join(clone, "refs"))) },
	"a shallow file that is none":      func(t *testing.T, clone string) { write(t, clone, "shallow", "none\n") },
	"an empty shallow file":            func(t *testing.T, clone string) { write(t, clone, "shallow", "") },
	"no shallow file":                  func(t *testing.T, clone string) { must(t, os.Remove(filepath.Join(clone, "shallow"))) },
	"an empty configuration":           func(t *testing.T, clone string) { write(t, clone, "config", "") },
	"packed references that are none":  func(t *testing.T, clone string) { write(t, clone, "packed-refs", "\x00\x00") },
	"no objects":                       func(t *testing.T, clone string) { must(t, os.RemoveAll(filepath.Join(clone, "objects"))) },
	"objects that are a file": func(t *testing.T, clone string) {
		must(t, os.RemoveAll(filepath.Join(clone, "objects")))
		write(t, clone, "objects", "")
	},
	"a clone that is a file": func(t *testing.T, clone string) {
		must(t, os.RemoveAll(clone))
		must(t, os.WriteFile(clone, nil, 0o600))
	},
	"an empty directory": func(t *testing.T, clone string) {
		must(t, os.RemoveAll(clone))
		must(t, os.Mkdir(clone, 0o700))
	},
	"a half-made replacement": func(t *testing.T, clone string) {
		must(t, os.Rename(clone, clone+".damaged"))
		must(t, os.MkdirAll(clone+".new/objects", 0o700))
	},
	"locks of a process that was killed": func(t *testing.T, clone string) {
		refs, err := filepath.Glob(filepath.Join(clone, "refs/truce/*"))
		must(t, err)
		for _, ref := range refs {
			must(t, os.WriteFile(ref+".lock", nil, 0o600))
		}
		for _, name := range []string{"shallow.lock", "packed-refs.lock", "HEAD.lock", "config.lock", "gc.pid.lock", "objects/maintenance.lock"} {
			write(t, clone, name, "")
		}
		write(t, clone, "gc.pid", "1 localhost")
		write(t, clone, "objects/pack/pack-x.keep", "fetch-pack 1")
	},
}

func TestADamagedCloneIsMadeAgain(t *testing.T) {
	files := map[string]string{"a": "1", "dir/b": strings.Repeat("much the same ", 300), "dir/c": strings.Repeat("much the same, ", 300)}
	r := gittest.New(t, files)
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	for name, spoil := range damage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "store")
			t.Run("at work", func(t *testing.T) {
				s := storeIn(t, dir)
				fetch(t, s, mainOf(server.URL))
				spoil(t, onlyClone(t, dir))
				healed(t, s, mainOf(server.URL), files)
			})
			t.Run("while stopped", func(t *testing.T) {
				spoil(t, onlyClone(t, dir))
				healed(t, storeIn(t, dir), mainOf(server.URL), files)
				onlyClone(t, dir)
			})
		})
	}
}

// A server that is away, and a full check of a healthy clone, must not cost the clone.
func TestAHealthyCloneStaysWhenItsServerFails(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	var broken bool
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: refuse(&broken)})
	dir := filepath.Join(t.TempDir(), "store")
	s := storeIn(t, dir)
	a := fetch(t, s, mainOf(server.URL))
	before, err := os.Stat(onlyClone(t, dir))
	must(t, err)
	broken = true
	for range 2 {
		refused(t, s, mainOf(server.URL), source.GitOperationFailed)
	}
	if got, err := fs.ReadFile(a.Files, "a"); err != nil || string(got) != "1" {
		t.Errorf("the tree of before: %q, %v", got, err)
	}
	if after, err := os.Stat(onlyClone(t, dir)); err != nil || !os.SameFile(before, after) {
		t.Errorf("the clone is another: %v", err)
	}
}

// A commit that git does not take, since it is malformed, is the fault of its repository: the clone is whole.
func TestAHealthyCloneStaysWhenGitRefusesACommit(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	fetches := 0
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			fetches++
		}
		return false
	}})
	dir := filepath.Join(t.TempDir(), "store")
	s := storeIn(t, dir)
	fetch(t, s, mainOf(server.URL))
	before, err := os.Stat(onlyClone(t, dir))
	must(t, err)
	blob, err := hex.DecodeString(r.Git("rev-parse", "main:a"))
	must(t, err)
	twice := strings.Repeat("100644 a\x00"+string(blob), 2)
	r.WriteCommit("tree " + r.WriteTree(twice) + "\nauthor A <a@example.com> 0 +0000\ncommitter A <a@example.com> 0 +0000\n\ntwo files of one name\n")
	fetches = 0
	for range 2 {
		t.Log(refused(t, s, mainOf(server.URL), source.GitOperationFailed))
	}
	if fetches != 2 {
		t.Errorf("two looks are %d fetches", fetches)
	}
	if after, err := os.Stat(onlyClone(t, dir)); err != nil || !os.SameFile(before, after) {
		t.Errorf("the clone is another: %v", err)
	}
}

// The same failure has the same text, or each look would write a status.
func TestAServerThatIsAwayIsSaidInTheSameWords(t *testing.T) {
	s := newStore(t)
	first := refused(t, s, mainOf("http://127.0.0.1:1/repo.git"), source.GitOperationFailed)
	for range 5 {
		if text := refused(t, s, mainOf("http://127.0.0.1:1/repo.git"), source.GitOperationFailed); text != first || strings.Contains(text, " ms") {
			t.Fatalf("%s, and before: %s", text, first)
		}
	}
}

func TestADamagedCloneServesWhatItCanWhileItsServerIsAway(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	var broken bool
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Hook: refuse(&broken)})
	dir := filepath.Join(t.TempDir(), "store")
	s := storeIn(t, dir)
	a := fetch(t, s, mainOf(server.URL))
	write(t, onlyClone(t, dir), "shallow", "none\n")
	broken = true
	refused(t, s, mainOf(server.URL), source.GitOperationFailed)
	if got, err := fs.ReadFile(a.Files, "a"); err != nil || string(got) != "1" {
		t.Errorf("the tree of before: %q, %v", got, err)
	}
	broken = false
	healed(t, s, mainOf(server.URL), map[string]string{"a": "1"})
}

func TestARepositoryThatChangesItsHashIsClonedAgain(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{})
	s := newStore(t)
	fetch(t, s, mainOf(server.URL))
	first := r.Dir + ".sha1"
	must(t, os.Rename(r.Dir, first))
	newest := sha256Repository(t, r.Dir)
	if a := fetch(t, s, mainOf(server.URL)); a.Commit != newest {
		t.Errorf("commit %s, want %s", a.Commit, newest)
	}
	must(t, os.RemoveAll(r.Dir))
	must(t, os.Rename(first, r.Dir))
	if a := fetch(t, s, mainOf(server.URL)); a.Commit != r.Head() {
		t.Errorf("commit %s, want %s", a.Commit, r.Head())
	}
}

// sha256Repository makes a bare repository with a commit on main, and returns its hash.
func sha256Repository(t *testing.T, dir string) string {
	t.Helper()
	var out []byte
	for _, args := range [][]string{
		{"init", "-q", "--bare", "--object-format=sha256", dir},
		{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com", "commit-tree", "-m", "x", "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Stderr = os.Stderr
		if args[0] == "-C" { // the empty tree has to be there
			hash := exec.Command("git", "-C", dir, "hash-object", "-t", "tree", "-w", "/dev/null")
			hash.Stderr = os.Stderr
			must(t, hash.Run())
		}
		var err error
		out, err = cmd.Output()
		must(t, err)
	}
	commit := strings.TrimSpace(string(out))
	must(t, exec.Command("git", "-C", dir, "update-ref", "refs/heads/main", commit).Run())
	return commit
}

// healed wants all files: at once, or, where only their reader can find the damage, with the next fetch.
func healed(t *testing.T, s *git.Store, spec source.Spec, want map[string]string) {
	t.Helper()
	var got map[string]string
	for range 2 {
		a := fetch(t, s, spec)
		var err error
		if got, err = contents(a.Files); err == nil {
			break
		}
		t.Log(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the files: %s", diff)
	}
}

func contents(files source.Tree) (map[string]string, error) {
	all := map[string]string{}
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		all[path] = string(content)
		return err
	})
	return all, err
}

// onlyClone is the directory of the one clone of a store.
func onlyClone(t *testing.T, store string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(store, "clones", "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("clones: %v, %v", found, err)
	}
	return found[0]
}

func empty([]byte) []byte { return nil }

func zeros(b []byte) []byte { return make([]byte, len(b)) }

// eachFile changes the files of a pattern; without a change it removes them.
func eachFile(pattern string, change func([]byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, clone string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(clone, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			must(t, errors.Join(err, os.Remove(file)))
			if change != nil {
				must(t, os.WriteFile(file, change(b), 0o600))
			}
		}
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refuse answers 500 while broken.
func refuse(broken *bool) func(int, http.ResponseWriter, *http.Request) bool {
	return func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		if *broken {
			http.Error(w, "broken", http.StatusInternalServerError)
		}
		return *broken
	}
}
