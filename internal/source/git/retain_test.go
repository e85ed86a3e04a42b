package git_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestClonesOfSourcesThatAreGoneAreRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	s := storeIn(t, dir)
	var specs []source.Spec
	var found []source.Artifact
	for _, name := range []string{"kept", "gone", "young"} {
		server := gittest.ServeHTTP(t, gittest.New(t, map[string]string{"file": name}), gittest.HTTPOptions{})
		specs = append(specs, mainOf(server.URL))
		found = append(found, fetch(t, s, specs[len(specs)-1]))
		if name != "young" {
			age(t, dir)
		}
	}
	if err := s.Retain(found[:1], time.Hour); err != nil {
		t.Fatal(err)
	}
	if n := len(clonesIn(t, dir)); n != 2 {
		t.Errorf("%d clones, want the one in use and the young one", n)
	}
	if text, err := fs.ReadFile(found[0].Files, "file"); string(text) != "kept" || err != nil {
		t.Errorf("the clone in use: %q, %v", text, err)
	}
	again := fetch(t, s, specs[1])
	if text, err := fs.ReadFile(again.Files, "file"); string(text) != "gone" || err != nil {
		t.Errorf("a source that has come back: %q, %v", text, err)
	}
}

// age makes all clones look as if nothing was fetched into them for a day.
func age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-24 * time.Hour)
	for _, clone := range clonesIn(t, dir) {
		if err := os.Chtimes(filepath.Join(clone, "config"), old, old); err != nil {
			t.Fatal(err)
		}
	}
}

func clonesIn(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "clones", "*.git"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestADirectoryIsOneStores(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	storeIn(t, dir)
	if _, err := git.OpenStore(git.Options{Dir: dir, Executable: "/bin/false"}); err == nil || err.Error() != "open git store: "+dir+": another process keeps its clones there" {
		t.Errorf("a second store: %v", err)
	}
}

// TestAForkedChildDoesNotKeepTheDirectory: between fork and exec a child has copies of all files, of the lock, too.
func TestAForkedChildDoesNotKeepTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	o := git.Options{Dir: dir, Executable: "/bin/false"}
	first, err := git.OpenStore(o)
	if err != nil {
		t.Fatal(err)
	}
	copied := false
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("open files cannot be listed here: %v", err)
	}
	for _, f := range files {
		if name, err := os.Readlink(filepath.Join("/proc/self/fd", f.Name())); err != nil || name != filepath.Join(dir, "lock") {
			continue
		}
		fd, err := strconv.Atoi(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		twin, err := syscall.Dup(fd)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Close(twin) }()
		copied = true
		break
	}
	if err := first.Close(); err != nil || !copied {
		t.Fatalf("copied the lock: %v, %v", copied, err)
	}
	second, err := git.OpenStore(o)
	if err != nil {
		t.Fatalf("after the first store has ended: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func TestAGitThatIsMissingOrTooOldIsRefused(t *testing.T) {
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	refuse := func(want string) {
		t.Helper()
		_, err := git.OpenStore(git.Options{Dir: filepath.Join(t.TempDir(), "store"), Executable: "/bin/false"})
		if err == nil || err.Error() != "open git store: "+want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	refuse("git is not on PATH: install git 2.37 or newer")
	program := filepath.Join(bin, "git")
	for said, want := range map[string]string{
		"git version 2.36.6":            program + " is git 2.36.6: want 2.37 or newer",
		"git version 1.99.0":            program + " is git 1.99.0: want 2.37 or newer",
		"hello":                         program + ` says "hello": want git 2.37 or newer`,
		"git version 2.37.0":            "",
		"git version 2.39.5 (Apple 15)": "",
		"git version 3.0":               "",
		"git version 2.50-rc1":          "",
		"git version 2.x":               program + ` says "git version 2.x": strconv.Atoi: parsing "": invalid syntax`,
	} {
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho '"+said+"'\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if want != "" {
			refuse(want)
		} else if _, err := git.OpenStore(git.Options{Dir: filepath.Join(t.TempDir(), "store"), Executable: "/bin/false"}); err != nil {
			t.Errorf("%s: %v", said, err)
		}
	}
}
