package kubetest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// Another returns a second API server, for this test alone, which ends with it. It waits while a test of another
// process has one: a test calls it once, before it starts anything that has a time limit.
func Another(t *testing.T) *Cluster {
	t.Helper()
	Start(t) // the first one is never waited for while the second place is taken
	c, err := start(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.sandbox.stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// WhileStopped calls do while the server of Another is stopped, and starts it again: it keeps its address, its certificates and its data.
func (c *Cluster) WhileStopped(t *testing.T, do func()) {
	t.Helper()
	if err := c.restartSandbox(func() error { do(); return nil }); err != nil {
		t.Fatal(err)
	}
}

// CopyData returns a copy of the data of the server of Another, as a crash at this moment would leave them: the process stands still meanwhile, and goes on.
// To end and start it instead costs three seconds of a processor.
func (c *Cluster) CopyData(t *testing.T) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "etcd")
	const files = "member" // a socket is beside it
	err := c.sandbox.pause(t.Context(), func() error {
		return os.CopyFS(filepath.Join(to, files), os.DirFS(filepath.Join(c.dataDir(), files)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// RestoreData gives the server of Another the data of a copy, as an administrator does who restores etcd from a backup. No Recorder may record.
func (c *Cluster) RestoreData(t *testing.T, from string) {
	t.Helper()
	err := c.restartSandbox(func() error {
		return errors.Join(os.RemoveAll(c.dataDir()), os.CopyFS(c.dataDir(), os.DirFS(from)))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) dataDir() string { return filepath.Join(c.sandbox.place.dir, "data", "etcd") }

// KubeconfigText returns the kubeconfig of a cluster administrator, with all credentials in it.
func (c *Cluster) KubeconfigText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
