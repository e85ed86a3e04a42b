package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source/disk"
)

// TestAStillTreeStaysAsItWasSeen changes the directory after the first look: nothing of that is seen.
func TestAStillTreeStaysAsItWasSeen(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a/b.yaml": "one", "a/left-out.yaml": "hidden", "a/.sourceignore": "left-out.yaml\n"})
	tree := open(t, dir)
	still := tree.Snapshot()
	want := sight(t, still)
	if diff := cmp.Diff([]string{".sourceignore", "b.yaml", "one", "absent", "hidden"}, want[:5]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	write(t, dir, map[string]string{"a/b.yaml": "two", "a/c.yaml": "new", "a/.sourceignore": ""})
	if diff := cmp.Diff(want, sight(t, still)); diff != "" {
		t.Errorf("after a change (-first +second):\n%s", diff)
	}
	if now := sight(t, tree.Snapshot()); cmp.Equal(want[len(want)-2:], now[len(now)-2:]) {
		t.Errorf("another sight has the sums of the first: %v", now)
	}
}

// sight is what a tree shows: the names in a directory, files, one that is absent, and sums.
func sight(t *testing.T, tree *disk.Snapshot) []string {
	t.Helper()
	var out []string
	entries, err := tree.ReadDir("a")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		out = append(out, e.Name())
	}
	for _, name := range []string{"a/b.yaml", "a/c.yaml", "a/left-out.yaml"} {
		data, err := fs.ReadFile(tree, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, "absent")
		case err != nil:
			t.Fatal(err)
		default:
			out = append(out, string(data))
		}
	}
	for _, name := range []string{"a/b.yaml", "."} {
		sum, err := tree.Sum(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sum)
	}
	return out
}

func TestAStillTreeGivesNothingFromOutside(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"in/a.yaml": "a", "out.yaml": "secret"})
	if err := os.Symlink("../out.yaml", filepath.Join(dir, "in/link.yaml")); err != nil {
		t.Fatal(err)
	}
	still := open(t, filepath.Join(dir, "in")).Snapshot()
	for _, name := range []string{"link.yaml", "../out.yaml", "/out.yaml", ".git/config"} {
		if data, err := still.ReadFile(name); err == nil {
			t.Errorf("%s: read %q", name, data)
		}
	}
}
