package kubetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// helmProgram is the stock helm.
const helmProgram = "helm.sh/helm/v4/cmd/helm"

// Helm builds the stock helm of the version in go.mod, once for all tests of the process, and returns its path. sums is a file with the checksums of the
// modules that helm needs and truce does not. Most of its packages are those of truce, and are compiled already.
func (c *Cluster) Helm(t *testing.T, sums string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	root, err := moduleRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir() // another test may be building with its own
	for name, more := range map[string]string{"go.mod": "", "go.sum": sums} {
		if err := copyFiles(filepath.Join(at, name), filepath.Join(root, name), more); err != nil {
			t.Fatal(err)
		}
	}
	return c.program(t, helmProgram, "-mod=mod", "-modfile="+filepath.Join(at, "go.mod"))
}

// copyFiles writes what is in two files, one after the other; an empty name is none.
func copyFiles(to string, from ...string) error {
	var all bytes.Buffer
	for _, name := range from {
		if name == "" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		all.Write(text)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, all.Bytes(), 0o600)
}

// HelmCommand is a call of a helm that Helm has built, with files of its own. It ends with the test.
func (c *Cluster) HelmCommand(t *testing.T, helm string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), helm, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	home := t.TempDir()
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HELM_") && !strings.HasPrefix(v, "KUBECONFIG=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return cmd
}
