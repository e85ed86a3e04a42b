package git

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source"
)

// FuzzRefName lets git itself judge: what we take, git takes.
func FuzzRefName(f *testing.F) {
	for _, name := range []string{
		"HEAD", "refs/heads/main", "refs/heads/a/b", "refs/heads/-x", "refs/heads/a..b", "refs/heads/a.lock", "refs/heads/.a", "refs/heads/a@{b", "refs/heads/@",
		"refs/heads/a b", "refs/heads/ä", "refs/heads/a.", "refs//heads", "refs/", "refs/heads/a\x7f", "refs/heads/a*", "refs/heads/\xff", "--all", "main",
		"refs/heads/../../x", "refs/heads/.git/config", "refs/heads/" + strings.Repeat("a", 70_000),
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkRefName(name) != nil || name == "HEAD" {
			return
		}
		if err := exec.Command("git", "check-ref-format", name).Run(); err != nil {
			t.Fatalf("%q is taken, but not by git", name)
		}
	})
}

func TestOrdinaryNamesAreTaken(t *testing.T) {
	for _, name := range []string{"main", "feature/x-1.2_3", "renovate/major-k8s", "ä/ö", "a@b", "@", "release/v1.0.0+build", "#12", "user%20x"} {
		if _, err := parseRef(source.Ref{Branch: name}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
