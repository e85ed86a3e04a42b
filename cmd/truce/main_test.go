package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/truce-gitops/truce/internal/kubetest"
	"github.com/truce-gitops/truce/internal/wire"
)

// TestMain makes the test binary the program: under the name truce, and when truce calls itself.
func TestMain(m *testing.M) {
	if code, ok := wire.Hidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	if filepath.Base(os.Args[0]) == "truce" {
		os.Exit(wire.Main(os.Args, "v0-test"))
	}
	kubetest.Main(m)
}

// program returns a directory that holds the program as truce.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "truce")); err != nil {
		t.Fatal(err)
	}
	return dir
}
