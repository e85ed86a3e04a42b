package kubetest

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// programs are what the tests of this process have built.
type programs struct {
	sync.Mutex
	paths map[string]string // by package
}

// Program builds the program in a package, as users get it but for what only a debugger reads, and returns its path. It is built once for
// all tests of the process: to link truce takes 9 s of a processor, half of them for the debugger. It lasts as long as the cluster.
func (c *Cluster) Program(t *testing.T, pkg string) string {
	t.Helper()
	return c.program(t, pkg)
}

// program is Program with flags of go build.
func (c *Cluster) program(t *testing.T, pkg string, flags ...string) string {
	t.Helper()
	c.programs.Lock()
	defer c.programs.Unlock()
	if path, ok := c.programs.paths[pkg]; ok {
		return path
	}
	path := filepath.Join(c.sandbox.place.dir, "bin", filepath.Base(pkg))
	args := append(append([]string{"build"}, flags...), "-ldflags=-w", "-o", path, pkg)
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	c.programs.paths[pkg] = path
	return path
}
