package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// swaps is how often a name changes its meaning while it is read.
const swaps = 3000

// TestADirectoryThatBecomesALinkLeadsNowhere swaps a directory and a link out of the tree, again and again, while files below it are read, listed and
// written: between a check and the use of a name there is no time in which another meaning of the name is followed.
func TestADirectoryThatBecomesALinkLeadsNowhere(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"b.yaml": "outside", "secret.yaml": "outside"})
	write(t, dir, map[string]string{"a/b.yaml": "inside"})
	a, kept, link := filepath.Join(dir, "a"), filepath.Join(dir, "kept"), filepath.Join(dir, "link")
	if err := os.Symlink(outside, link); err != nil {
		t.Fatal(err)
	}
	whileSwapping(t, [][2]string{{a, kept}, {link, a}, {a, link}, {kept, a}}, func() {
		tree := open(t, dir)
		if data, err := fs.ReadFile(tree, "a/b.yaml"); strings.Contains(string(data), "outside") {
			t.Errorf("read %q, %v", data, err)
		}
		if data, err := tree.Snapshot().ReadFile("a/b.yaml"); strings.Contains(string(data), "outside") {
			t.Errorf("read %q, %v", data, err)
		}
		entries, err := fs.ReadDir(tree, "a")
		for _, e := range entries {
			if e.Name() == "secret.yaml" {
				t.Errorf("listed %s, %v", e.Name(), err)
			}
		}
	})
	if data, err := os.ReadFile(filepath.Join(outside, "b.yaml")); err != nil || string(data) != "outside" {
		t.Errorf("outside: %q, %v", data, err)
	}
}

// TestAFileThatBecomesAPipeIsNotWaitedFor swaps a file and a pipe: to open a pipe waits for its other end, for ever.
func TestAFileThatBecomesAPipeIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"b.yaml": "inside"})
	file, kept, pipe := filepath.Join(dir, "b.yaml"), filepath.Join(dir, "kept"), filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	whileSwapping(t, [][2]string{{file, kept}, {pipe, file}, {file, pipe}, {kept, file}}, func() {
		tree := open(t, dir)
		for _, read := range []func(string) ([]byte, error){tree.ReadFile, tree.Snapshot().ReadFile} {
			if data, err := read("b.yaml"); err == nil && string(data) != "inside" {
				t.Errorf("read %q", data)
			}
		}
		if f, err := tree.Open("b.yaml"); err == nil {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// whileSwapping calls a function again and again while another goroutine renames, in turn.
func whileSwapping(t *testing.T, renames [][2]string, do func()) {
	t.Helper()
	var over atomic.Bool
	done := make(chan error, 1)
	go func() {
		defer over.Store(true)
		for range swaps {
			for _, r := range renames {
				if err := os.Rename(r[0], r[1]); err != nil {
					done <- err
					return
				}
			}
		}
		done <- nil
	}()
	rounds := 0
	for ; !over.Load(); rounds++ {
		do()
	}
	if err := <-done; err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if rounds == 0 {
		t.Error("nothing was read")
	}
}
