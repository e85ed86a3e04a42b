package git

import (
	"slices"
	"strings"
	"testing"
)

// TestGitStartsSSHWithoutAShell, since truce's image has none: git gives GIT_SSH_COMMAND and core.sshCommand to one, and runs GIT_SSH itself (git(1)).
func TestGitStartsSSHWithoutAShell(t *testing.T) {
	env := runner{ssh: "/a path/truce"}.environment(network{protocols: "ssh"})
	if !slices.Contains(env, "GIT_SSH=/a path/truce") {
		t.Error("GIT_SSH is not truce")
	}
	for _, v := range env {
		if strings.HasPrefix(v, "GIT_SSH_COMMAND=") || strings.Contains(strings.ToLower(v), "core.sshcommand") {
			t.Error(v)
		}
	}
}
