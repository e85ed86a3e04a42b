package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// names are those that the program answers to.
var names = []string{"truce", "argocd"}

// TestMain makes the test binary the program: under one of its names, and when truce calls itself.
func TestMain(m *testing.M) {
	if code, ok := compose.RunHidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	if slices.Contains(names, filepath.Base(os.Args[0])) {
		os.Exit(runProgram(os.Args, "v0-test"))
	}
	kubetest.Main(m)
}

// program returns a directory that holds the program under its names.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range names {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
