package git

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/exclude"
	"github.com/truce-gitops/truce/internal/source/tree"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

const someHash = "07e1a1524592051df399b678a4b13e2a33b9b9a3"

// openRepository is the reader of a repository of the test's.
func openRepository(t *testing.T, dir string) *repository {
	t.Helper()
	s, err := OpenStore(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s.repository(dir)
}

// TestAListIsThatOfLsTree compares with what git itself lists, in git's order.
func TestAListIsThatOfLsTree(t *testing.T) {
	many := map[string]string{"a.yaml": "1", "a/b c\td/e.yaml": "22", "a-b/x": "", "a/z/deep/er/est": strings.Repeat("x", 70000), "ü/ö": "3"}
	for i := range 2*mostAsked + 3 {
		many[fmt.Sprintf("many/%03d.yaml", i)] = strings.Repeat("y", i)
	}
	r := gittest.New(t, many)
	r.Symlink("a/link", "../a.yaml")
	r.Submodule("sub", someHash)
	commit := r.Head()
	got, err := openRepository(t, r.Dir).list(t.Context(), commit, 10000)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range got {
		mode, size := map[fs.FileMode]string{tree.Regular: "100644 blob", tree.Executable: "100755 blob", tree.Link: "120000 blob", tree.Submodule: "160000 commit"}[e.Mode], fmt.Sprint(e.Size)
		if e.Mode == tree.Submodule {
			size = "-"
		}
		lines = append(lines, fmt.Sprintf("%s %s %7s\t%s", mode, e.Hash, size, e.Path))
	}
	want := strings.Split(strings.TrimSuffix(r.Git("ls-tree", "-r", "-z", "--long", "--full-tree", commit), "\x00"), "\x00")
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-ls-tree +list)\n%s", diff)
	}
}

// TestASmallTreeIsReadInOneProcess: reference, commit, list and files.
func TestASmallTreeIsReadInOneProcess(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "first", "b/c": "second"})
	repo := openRepository(t, r.Dir)
	started := 0
	start := repo.objects.start
	repo.objects.start = func() *exec.Cmd {
		started++
		return start()
	}
	at, err := repo.find(t.Context(), ref{name: "refs/heads/main", show: "main"})
	if err != nil || at.commit != r.Head() {
		t.Fatal(at, err)
	}
	list, err := repo.list(t.Context(), at.commit, 10)
	if err != nil {
		t.Fatal(err)
	}
	repo.objects.reset()
	for _, e := range list {
		if data, err := repo.Blob(e.Hash); err != nil || int64(len(data)) != e.Size {
			t.Errorf("%s: %q, %v", e.Path, data, err)
		}
	}
	if started != 1 {
		t.Errorf("%d processes read", started)
	}
}

// entry is one of a tree object.
func entry(mode, name string) string {
	hash, _ := hex.DecodeString(someHash)
	return mode + " " + name + "\x00" + string(hash)
}

func TestATreeThatIsWrongIsAnError(t *testing.T) {
	for in, reason := range map[string]source.Reason{
		entry("100644", "../x"):        source.PathEscape,
		entry("100644", "a/../../x"):   source.PathEscape,
		entry("100644", "/etc/passwd"): source.PathEscape,
		entry("100644", "."):           source.PathEscape,
		entry("100644", "a//b"):        source.PathEscape,
		entry("100644", ""):            source.PathEscape,
		entry("100644", "a") + entry("100644", "b") + entry("100644", "c"): source.LimitExceeded,
		entry("100644", strings.Repeat("a", 5000)):                         source.LimitExceeded,
		"100644 cut":                             "",
		entry("100644", "a")[:20]:                "",
		"garbage\x00":                            "",
		strings.Repeat("1", 99) + entry("", "a"): "",
	} {
		_, err := walked(in)
		var f *failure
		if err == nil || reason != "" && (!errors.As(err, &f) || f.Reason != reason) {
			t.Errorf("%.60q: %v, want %s", in, err, reason)
		}
	}
}

// walked reads a tree object without directories, of at most two entries.
func walked(object string) ([]tree.Entry, error) {
	w := treeWalk{most: 2, bytes: len(someHash) / 2}
	_, err := w.addAll([]byte(object), "", nil)
	return w.entries, err
}

// TestATreeThatHoldsItselfManyTimesEnds: two entries of a directory lead to the one below it, a million times a million paths.
func TestATreeThatHoldsItselfManyTimesEnds(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "1"})
	below := r.Git("rev-parse", "main^{tree}")
	for range 40 {
		raw, err := hex.DecodeString(below)
		if err != nil {
			t.Fatal(err)
		}
		below = r.WriteTree("40000 a\x00" + string(raw) + "40000 b\x00" + string(raw))
	}
	commit := r.WriteCommit("tree " + below + "\nauthor A <a@example.com> 0 +0000\ncommitter A <a@example.com> 0 +0000\n\nmany\n")
	_, err := openRepository(t, r.Dir).list(t.Context(), commit, 1000)
	if errorReason(err) != source.LimitExceeded {
		t.Errorf("%v", err)
	}
}

func FuzzATree(f *testing.F) {
	f.Add([]byte(entry("100644", "b") + entry("100755", "a/c")))
	f.Add([]byte(entry("120000", "a") + entry("100644", "a/b")))
	f.Add([]byte(entry("100644", "a/b") + entry("160000", "b") + entry("100644", "a/b")))
	f.Fuzz(func(t *testing.T, data []byte) {
		w := treeWalk{most: 100, bytes: len(someHash) / 2}
		if _, err := w.addAll(data, "", nil); err != nil {
			return
		}
		made, err := tree.NewTree(t.Context(), &repository{}, withoutIgnoreFiles(w.entries), tree.Rules{}, nil)
		if err != nil {
			return
		}
		// Whatever was listed, each path of the tree is valid and leads nowhere else.
		seen := map[string]bool{}
		err = fs.WalkDir(made, ".", func(path string, d fs.DirEntry, err error) error {
			if seen[path] || !fs.ValidPath(path) && strings.ToValidUTF8(path, "") == path {
				return fmt.Errorf("path %q", path)
			}
			seen[path] = true
			if strings.ToValidUTF8(path, "") != path {
				return fs.SkipDir // fs.FS has no such paths
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

func withoutIgnoreFiles(list []tree.Entry) (kept []tree.Entry) {
	for _, e := range list {
		if !strings.HasSuffix(e.Path, exclude.IgnoreFile) && e.Mode != tree.Link {
			kept = append(kept, e)
		}
	}
	return kept
}
