package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/source/git"
)

// TestLookTellsWhatIsNoPartOfARepository: what is ignored and not followed, and by which addresses it is known.
func TestLookTellsWhatIsNoPartOfARepository(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".gitignore": "node_modules/\n*.tmp.yaml\n", "node_modules/a/b.yaml": "x", "a.tmp.yaml": "x", "followed.tmp.yaml": "x", "new.yaml": "x",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "--force", "followed.tmp.yaml"},
		{"remote", "add", "origin", "https://somebody:secret@git.example/fleet.git"}, {"remote", "add", "other", "git@git.example:fork/fleet"},
		{"config", "core.fsmonitor", "touch " + filepath.Join(dir, "started")},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	got, err := git.InspectWorkTree(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := git.WorkTree{
		Ignored: map[string]bool{"node_modules": true, "a.tmp.yaml": true}, Remotes: []string{"https://git.example/fleet.git", "git@git.example:fork/fleet"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); err == nil {
		t.Error("what the repository's configuration names was started")
	}
}

func TestLookSaysWhyItCannot(t *testing.T) {
	if got, err := git.InspectWorkTree(t.Context(), t.TempDir()); err == nil {
		t.Errorf("no repository: %+v", got)
	}
}
