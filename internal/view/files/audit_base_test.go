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
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "one")
	git("commit", "-q", "--allow-empty", "-m", "two")
	if err := os.WriteFile(filepath.Join(dir, "web/binding.yaml"), []byte(binding("writer")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{0, "", []string{"audit", dir}},
		{1, "4:1 error immutable-changed", []string{"audit", dir, "--base", "HEAD~1"}},
		{1, "4:1 error immutable-changed", []string{"audit", filepath.Join(dir, "web"), "--base", "main"}},
		{2, `no commit "nothing" is in the repository`, []string{"audit", dir, "--base", "nothing"}},
		{2, "it is in no working tree of git", []string{"audit", t.TempDir(), "--base", "main"}},
	} {
		got := run(t, "", c.args...)
		if got.code != c.code || !strings.Contains(got.out+got.err, c.says) {
			t.Errorf("truce %s: exit %d, want %d; wanted in it: %s\n%s%s", strings.Join(c.args, " "), got.code, c.code, c.says, got.out, got.err)
		}
	}
}
