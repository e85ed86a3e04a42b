package files_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAuditTellsWhatCannotBeChangedSinceARevision: the base is read from the object store, the rest from the working tree.
func TestAuditTellsWhatCannotBeChangedSinceARevision(t *testing.T) {
	binding := func(role string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: web, namespace: shop}\n" +
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: " + role + "}\nsubjects: [{kind: ServiceAccount, name: web}]\n"
	}
	dir := files(t, map[string]string{"web/binding.yaml": binding("reader")})
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "one"}, {"commit", "-q", "--allow-empty", "-m", "two"}} {
		gitIn(t, dir, args...)
	}
	if err := os.WriteFile(filepath.Join(dir, "web/binding.yaml"), []byte(binding("writer")), 0o600); err != nil {
		t.Fatal(err)
	}
	auditsAs(t, []auditCase{
		{0, "", []string{"audit", dir}},
		{1, "4:1 error immutable-changed", []string{"audit", dir, "--base", "HEAD~1"}},
		{1, "4:1 error immutable-changed", []string{"audit", filepath.Join(dir, "web"), "--base", "main"}},
		{2, `no commit "nothing" is in the repository`, []string{"audit", dir, "--base", "nothing"}},
		{2, "it is in no working tree of git", []string{"audit", t.TempDir(), "--base", "main"}},
	})
}

// TestAuditComparesWithARevisionThatDescribesNothing: all is new then, in the directory or in the whole repository.
func TestAuditComparesWithARevisionThatDescribesNothing(t *testing.T) {
	dir := files(t, map[string]string{"README.md": "a\n", "web/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: shop}\n"})
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "README.md"}, {"commit", "-q", "-m", "one"}, {"tag", "bare"}, {"add", "."}, {"commit", "-q", "-m", "two"},
	} {
		gitIn(t, dir, args...)
	}
	auditsAs(t, []auditCase{
		{0, "1 object", []string{"audit", dir, "--base", "bare"}},
		{0, "1 object", []string{"audit", filepath.Join(dir, "web"), "--base", "bare"}},
		{0, "1 object", []string{"audit", "file://" + dir, "--base", "bare"}},
		{2, "nothing in it describes an object", []string{"audit", "file://" + dir, "--ref", "bare", "--base", "main"}},
	})
}

type auditCase struct {
	code int
	says string
	args []string
}

func auditsAs(t *testing.T, cases []auditCase) {
	t.Helper()
	for _, c := range cases {
		got := run(t, "", c.args...)
		if got.code != c.code || !strings.Contains(got.out+got.err, c.says) {
			t.Errorf("truce %s: exit %d, want %d; wanted in it: %s\n%s%s", strings.Join(c.args, " "), got.code, c.code, c.says, got.out, got.err)
		}
	}
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v: %s", args, err, out)
	}
}
