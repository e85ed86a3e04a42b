package gittest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestCommitsBuildOnEachOther(t *testing.T) {
	r := gittest.NewTxtar(t, "-- a.yaml --\na: 1\n-- dir/b c.yaml --\nb: 1\n")
	first := r.Head()
	second := r.Commit(map[string]string{"a.yaml": "a: 2\n", "run.sh*": "#!/bin/sh\n"}, "second")
	r.Symlink("link", "a.yaml")
	r.Remove("dir")
	r.Tag("v1", first)
	r.AnnotatedTag("v2", "")
	r.Branch("side", second)

	if got := r.Git("ls-tree", "-r", "--name-only", "main"); got != "a.yaml\nlink\nrun.sh" {
		t.Errorf("files of main: %q", got)
	}
	if got := r.Git("rev-list", "--count", "main"); got != "4" {
		t.Errorf("%s commits, want 4", got)
	}
	if diff := cmp.Diff([]string{first, second}, []string{r.Git("rev-parse", "v1"), r.Git("rev-parse", "side")}); diff != "" {
		t.Error(diff)
	}
	r.Git("pack-refs", "--all")
	r.Commit(map[string]string{"c": "c"}, "after packing")
	if got := r.Git("rev-list", "--count", "main"); got != "5" {
		t.Errorf("%s commits after packing, want 5", got)
	}
	forced := r.ForcePush(map[string]string{"only": "this"}, "forced")
	if got := r.Git("rev-list", "main"); got != forced {
		t.Errorf("history after a forced push: %q, want %q", got, forced)
	}
	if last := r.Commits(3); r.Git("rev-list", "--count", "main") != "4" || last != r.Head() || r.Git("show", "main:only") != "this" || r.Git("show", "main~1:count") != "1" {
		t.Errorf("several commits: %s", r.Git("log", "--name-status", "main"))
	}
	r.Git("fsck", "--strict")
}
