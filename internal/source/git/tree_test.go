package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestTreeIsAFileSystem(t *testing.T) {
	r := gittest.NewTxtar(t, `
-- top.yaml --
a: 1
-- apps/web/a.yaml --
b: 2
-- apps/web/run.sh* --
#!/bin/sh
-- apps/db/a b.yaml --
c: 3
-- empty --
`)
	r.Symlink("apps/current", "web")
	r.Symlink("apps/db/top", "../../top.yaml")
	files := fetch(t, newStore(t), mainOf(r.URL)).Files
	if err := fstest.TestFS(files, "top.yaml", "apps/web/a.yaml", "apps/web/run.sh", "apps/db/a b.yaml", "empty"); err != nil {
		t.Error(err)
	}
	info, err := fs.Stat(files, "apps/web/run.sh")
	if err != nil || info.Mode() != 0o755 {
		t.Errorf("mode of an executable: %v, %v", info.Mode(), err)
	}
	var walked []string
	err = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		walked = append(walked, path)
		return err
	})
	want := []string{
		".", "apps", "apps/current", "apps/db", "apps/db/a b.yaml", "apps/db/top", "apps/web", "apps/web/a.yaml",
		"apps/web/run.sh", "empty", "top.yaml",
	}
	if diff := cmp.Diff(want, walked); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestLinksAreFollowedInsideTheTreeOnly(t *testing.T) {
	r := gittest.New(t, map[string]string{"a/file": "content", "top": "top content"})
	r.Symlink("b/file", "../a/file")
	r.Symlink("b/dir", "../a")
	r.Symlink("b/twice", "dir/../b/file")
	r.Symlink("b/gone", "nowhere")
	r.Symlink("out/parent", "../../etc/passwd")
	r.Symlink("out/root", "/etc/passwd")
	r.Symlink("out/dir", "../..")
	r.Symlink("out/through", "parent")
	r.Symlink("loop/a", "b")
	r.Symlink("loop/b", "a")
	r.Symlink("loop/self", "self/x")
	for i := range 41 {
		r.Symlink(fmt.Sprintf("chain/%d", i), fmt.Sprintf("%d", i+1))
	}
	r.Commit(map[string]string{"chain/41": "end"}, "end of the chain")
	files := fetch(t, newStore(t), mainOf(r.URL)).Files

	for path, want := range map[string]string{
		"b/file": "content", "b/dir/file": "content", "b/twice": "content", "chain/1": "end",
	} {
		got, err := fs.ReadFile(files, path)
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, link := range map[string]string{
		"out/parent": "out/parent", "out/root": "out/root", "out/dir": "out/dir", "out/dir/x/y": "out/dir", "out/through": "out/parent",
		"loop/a": "loop/", "loop/self": "loop/self", "chain/0": "chain/",
	} {
		for _, err := range everyWay(files, path) {
			var e *source.Error
			if !errors.As(err, &e) || e.Reason != source.PathEscape || !strings.Contains(err.Error(), "the link "+link) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if _, err := files.Open("b/gone"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a link to nothing: %v", err)
	}
}

// everyWay tries to read a path by each method, and returns what was said.
func everyWay(files source.Tree, path string) []error {
	_, open := files.Open(path)
	_, read := fs.ReadFile(files, path)
	_, dir := fs.ReadDir(files, path)
	_, stat := fs.Stat(files, path)
	_, sum := files.Sum(path)
	return []error{open, read, dir, stat, sum}
}

func TestPathsOutsideTheTreeAreInvalid(t *testing.T) {
	r := gittest.New(t, map[string]string{"a/b": "x"})
	files := fetch(t, newStore(t), mainOf(r.URL)).Files
	for _, path := range []string{"../x", "/etc/passwd", "a/../../x", "a//b", "", "a/", "./a"} {
		for _, err := range everyWay(files, path) {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%q: %v", path, err)
			}
		}
	}
	for _, err := range everyWay(files, "a/b/c") {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("below a file: %v", err)
		}
	}
}

func TestSubmodulesAreRefusedOnlyWhenOpened(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "x"})
	r.Submodule("lib/sub", r.Head())
	files := fetch(t, newStore(t), mainOf(r.URL)).Files
	if _, err := fs.ReadDir(files, "lib"); err != nil {
		t.Error(err)
	}
	for _, path := range []string{"lib/sub", "lib/sub/x"} {
		for _, err := range everyWay(files, path) {
			var e *source.Error
			if !errors.As(err, &e) || e.Reason != source.NotSupported || !strings.Contains(err.Error(), "lib/sub is a submodule") {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func TestSumsChangeExactlyWithTheContent(t *testing.T) {
	r := gittest.New(t, map[string]string{"a/x": "1", "b/y": "1", "c/z": "1", "plain": "1"})
	r.Symlink("b/link", "../a/x")
	r.Symlink("c/link", "../b")
	s := newStore(t)
	sums := func() map[string]string {
		files := fetch(t, s, mainOf(r.URL)).Files
		got := map[string]string{}
		for _, path := range []string{"a", "a/x", "b", "b/y", "b/link", "c", "."} {
			sum, err := files.Sum(path)
			if err != nil {
				t.Fatal(err)
			}
			got[path] = sum
		}
		return got
	}
	changed := func(before, after map[string]string) (paths []string) {
		for _, path := range []string{"a", "a/x", "b", "b/y", "b/link", "c", "."} {
			if before[path] != after[path] {
				paths = append(paths, path)
			}
		}
		return paths
	}
	first := sums()
	r.Commit(map[string]string{"plain": "2"}, "elsewhere")
	second := sums()
	// c links to a directory that holds links, so all of the tree stands for it.
	if diff := cmp.Diff([]string{"c", "."}, changed(first, second)); diff != "" {
		t.Error(diff)
	}
	r.Commit(map[string]string{"a/x": "2"}, "a link's target")
	third := sums()
	if diff := cmp.Diff([]string{"a", "a/x", "b", "b/link", "c", "."}, changed(second, third)); diff != "" {
		t.Error(diff)
	}
	r.Commit(map[string]string{"a/x": "1", "plain": "1"}, "back")
	if diff := cmp.Diff(first, sums()); diff != "" {
		t.Error(diff)
	}
	if _, err := fetch(t, s, mainOf(r.URL)).Files.Sum("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sum of what is absent: %v", err)
	}
}

func TestIgnoredFilesAreNoPartOfTheArtifact(t *testing.T) {
	r := gittest.NewTxtar(t, `
-- .sourceignore --
/docs/
-- app/.sourceignore --
*.txt
-- app/a.yaml --
-- app/a.txt --
-- docs/a.yaml --
-- other/a.txt --
-- other/secret.yaml --
`)
	s := newStore(t)
	spec := mainOf(r.URL)
	spec.Ignore = "secret.yaml"
	first := fetch(t, s, spec)
	var got []string
	err := fs.WalkDir(first.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			got = append(got, path)
		}
		return err
	})
	if diff := cmp.Diff([]string{".sourceignore", "app/.sourceignore", "app/a.yaml", "other/a.txt"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	r.Commit(map[string]string{"docs/a.yaml": "changed"}, "ignored")
	second := fetch(t, s, spec)
	if first.Digest != second.Digest || first.Revision == second.Revision {
		t.Errorf("an ignored change: digests %s %s, revisions %s %s", first.Digest, second.Digest, first.Revision, second.Revision)
	}
	r.Commit(map[string]string{"app/.sourceignore": "*.yaml", "app/b": "new"}, "other rules")
	third := fetch(t, s, spec).Files
	for path, want := range map[string]bool{"app/a.txt": true, "app/a.yaml": false, "app/b": true, "docs/a.yaml": false, "other/a.txt": true} {
		if _, err := fs.Stat(third, path); (err == nil) != want {
			t.Errorf("after a change of the rules: %s: %v", path, err)
		}
	}
	if first.Digest == fetch(t, s, mainOf(r.URL)).Digest {
		t.Error("other ignore rules, same digest")
	}
}

func TestLimitsHoldBeforeAnythingIsRead(t *testing.T) {
	r := gittest.New(t, map[string]string{"a": "12345", "b": "12345", "deep/er/path": "12345"})
	s := newStore(t)
	for want, limits := range map[string]source.Limits{
		"more than 2 files":             {Files: 2},
		"more than 14 bytes":            {Bytes: 14},
		"a path is longer than 5 bytes": {PathLength: 5},
	} {
		spec := mainOf(r.URL)
		spec.Limits = limits
		if text := refused(t, s, spec, source.LimitExceeded); !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
	spec := mainOf(r.URL)
	spec.Limits = source.Limits{Files: 3, Bytes: 15, PathLength: 12}
	fetch(t, s, spec)
	spec.Limits, spec.Ignore = source.Limits{Files: 2}, "/a"
	fetch(t, s, spec) // what is ignored does not count
}
