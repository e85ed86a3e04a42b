package git_test

import (
	"context"
	"os"
	"testing"

	"github.com/truce-gitops/truce/internal/source/git"
)

// TestMain is also the program that git runs in place of ssh.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "git-ssh" {
		os.Exit(git.SSHMain(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}
