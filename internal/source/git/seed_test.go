package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/source/git"
)

func TestSeedMakesARepositoryOnce(t *testing.T) {
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull) // a user without a name in git's configuration
	t.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
	dir := filepath.Join(t.TempDir(), "repo")
	files := fstest.MapFS{"a/b.yaml": {Data: []byte("x: 1\n")}}
	if err := git.SeedRepository(t.Context(), dir, files); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b.yaml"), []byte("x: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	commit := exec.CommandContext(t.Context(), "git", "-C", dir, "commit", "-qam", "by the user")
	if out, err := commit.CombinedOutput(); err != nil {
		t.Fatalf("the user cannot commit: %v %s", err, out)
	}
	if err := git.SeedRepository(t.Context(), dir, files); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "git", "-C", dir, "log", "--format=%s", "main").Output()
	if err != nil || strings.Count(string(out), "\n") != 2 || !strings.HasPrefix(string(out), "by the user") {
		t.Errorf("log after a second Seed: %q %v", out, err)
	}
}

func TestSeedLeavesNothingBehindWhenItFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "repo")
	if err := git.SeedRepository(t.Context(), dir, fstest.MapFS{}); err == nil { // nothing to commit
		t.Fatal("an empty repository was made")
	}
	for _, left := range []string{dir, dir + ".new"} {
		if _, err := os.Stat(left); err == nil {
			t.Errorf("%s was left", left)
		}
	}
}
