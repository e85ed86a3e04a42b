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

// TestAVersionOfFluxHasThreeNumbers, and one of Argo CD may have fewer. Between equal versions the later name decides, whatever the order of the list.
func TestAVersionOfFluxHasThreeNumbers(t *testing.T) {
	for _, c := range []struct {
		tags         []string
		versions     string
		flux, argoCD string
	}{
		{[]string{"v1.2.3", "20240115"}, ">=1.0.0", "v1.2.3", "20240115"},
		{[]string{"2024.01", "1.2.3"}, "*", "1.2.3", "2024.01"},
		{[]string{"v2", "v1.9.0", "V3.0.0", "vv4.0.0"}, "*", "v1.9.0", "v2"},
		{[]string{"v2"}, "*", "", "v2"},
		{[]string{"v1.0.0+a", "v1.0.0+b"}, "*", "v1.0.0+b", "v1.0.0+b"},
		{[]string{"v1.0.0+b", "v1.0.0+a", "1.0.0"}, "*", "v1.0.0+b", "v1.0.0+b"},
	} {
		for strict, want := range map[bool]string{true: c.flux, false: c.argoCD} {
			r, err := parseRef(source.Ref{SemVer: c.versions, Strict: strict})
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.newest(c.tags); got != want || (err == nil) != (want != "") {
				t.Errorf("%q of %v, strict: %v: %q, %v, want %q", c.versions, c.tags, strict, got, err, want)
			}
		}
	}
	lenient, err := parseRef(source.Ref{SemVer: "*"})
	strict, err2 := parseRef(source.Ref{SemVer: "*", Strict: true})
	if err != nil || err2 != nil || lenient.key() == strict.key() {
		t.Errorf("%q and %q are one fetch: %v, %v", lenient.key(), strict.key(), err, err2)
	}
}
