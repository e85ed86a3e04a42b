package git_test

import (
	"context"
	"os"
	"testing"

	"github.com/truce-gitops/truce/internal/source/git"
)

// TestMain is also the program that git runs in place of ssh.
func TestMain(m *testing.M) {
	if git.IsSSHHelper() {
		os.Exit(git.SSHMain(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
