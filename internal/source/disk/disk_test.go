package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source/disk"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, dir string) *disk.Tree {
	t.Helper()
	tree, err := disk.OpenTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
	})
	return tree
}

func names(t *testing.T, tree fs.FS) []string {
	t.Helper()
	var out []string
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestListingsLeaveOutWhatASourceWould(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.yaml": "", "b/c.yaml": "", ".git/x.yaml": "", ".github/workflow.yaml": "", "logo.png": ""})
	tree := open(t, dir)
	if diff := cmp.Diff([]string{"a.yaml", "b/c.yaml"}, names(t, tree)); diff != "" {
		t.Errorf("by default (-want +got):\n%s", diff)
	}
	if _, err := tree.ReadFile(".github/workflow.yaml"); err != nil {
		t.Errorf("a file that is named: %v", err)
	}
	if _, err := tree.ReadFile(".git/x.yaml"); err == nil {
		t.Error("git's own file was read")
	}
	write(t, dir, map[string]string{".sourceignore": "a.yaml\n", "b/.sourceignore": "*.png\n"})
	if diff := cmp.Diff([]string{".github/workflow.yaml", ".sourceignore", "b/.sourceignore", "b/c.yaml", "logo.png"}, names(t, tree)); diff != "" {
		t.Errorf("by the tree's own files (-want +got):\n%s", diff)
	}
}

func TestLinesOfACommandLeaveOutMoreBelowTheirDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.yaml": "", "b/a.yaml": "", "b/c/a.yaml": "", "b/d.yaml": "", "b/.sourceignore": "d.yaml\n"})
	tree := open(t, dir)
	tree.Exclude("b", "/a.yaml")
	for _, files := range []fs.FS{tree, tree.Snapshot()} {
		if diff := cmp.Diff([]string{"a.yaml", "b/.sourceignore", "b/c/a.yaml"}, names(t, files)); diff != "" {
			t.Errorf("%T (-want +got):\n%s", files, diff)
		}
	}
}

func TestNothingOutsideIsReadAndNothingThatHangs(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"secret": "s", "top/a.yaml": "a"})
	top := filepath.Join(dir, "top")
	for link, target := range map[string]string{"out": "../secret", "absolute": filepath.Join(dir, "secret"), "in": "a.yaml", "nowhere": "x"} {
		if err := os.Symlink(target, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(top, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := open(t, top)
	for _, name := range []string{"out", "absolute", "../secret", "pipe", "nowhere"} {
		if data, err := tree.ReadFile(name); err == nil {
			t.Errorf("%s was read: %q", name, data)
		}
		if f, err := tree.Open(name); err == nil {
			t.Errorf("%s was opened", name)
			_ = f.Close() // the test has failed already
		}
	}
	if data, err := tree.ReadFile("in"); err != nil || string(data) != "a" {
		t.Errorf("a link inside: %q, %v", data, err)
	}
}

func TestSumsTellContent(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a/x.yaml": "1", "b/x.yaml": "1"})
	if err := os.Symlink(".", filepath.Join(dir, "a", "around")); err != nil {
		t.Fatal(err)
	}
	tree := open(t, dir)
	sum := func(name string) string {
		t.Helper()
		s, err := tree.Sum(name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if sum("a/x.yaml") != sum("b/x.yaml") || sum("a") == sum("b") {
		t.Error("equal files differ, or different directories do not")
	}
	before := sum(".")
	write(t, dir, map[string]string{"b/x.yaml": "2"})
	if sum(".") == before {
		t.Error("a change below is not seen")
	}
	if _, err := tree.Sum("nope"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what is absent: %v", err)
	}
	if _, err := disk.OpenTree(filepath.Join(dir, "nope")); err == nil || !strings.Contains(err.Error(), "nope") {
		t.Errorf("a directory that is absent: %v", err)
	}
}
