package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/truce-gitops/truce/internal/cli/up"
)

// TestWhatIsPrintedFirstMakesTheOtherCommandsWork checks which settings a new terminal needs.
func TestWhatIsPrintedFirstMakesTheOtherCommandsWork(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"truce", "kubectl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	truce, kubectl := filepath.Join(dir, "truce"), filepath.Join(dir, "kubectl")
	for name, c := range map[string]struct {
		world up.Environment
		path  string
		want  string
	}{
		"neither on PATH":           {up.Environment{Kubeconfig: "/w/kubeconfig", Truce: truce, Kubectl: kubectl}, "/usr/bin", "export KUBECONFIG=/w/kubeconfig PATH=" + dir + ":$PATH"},
		"both on PATH":              {up.Environment{Kubeconfig: "/w/kubeconfig", Truce: truce, Kubectl: kubectl}, "/nowhere:" + dir, "export KUBECONFIG=/w/kubeconfig"},
		"a path with a space":       {up.Environment{Kubeconfig: "/w's dir/kubeconfig", Truce: truce}, dir, `export KUBECONFIG='/w'\''s dir/kubeconfig'`},
		"the user's own cluster":    {up.Environment{Truce: truce, Context: "test"}, dir, ""},
		"called by another name":    {up.Environment{Truce: filepath.Join(dir, "kubectl-truce")}, dir, ""},
		"the user's own of kubectl": {up.Environment{Kubeconfig: "/w/kubeconfig", Truce: truce, Kubectl: "kubectl"}, dir, "export KUBECONFIG=/w/kubeconfig"},
	} {
		if got := (&upEnvironment{Environment: &c.world}).export(func(string) string { return c.path }); got != c.want {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
	}
}
