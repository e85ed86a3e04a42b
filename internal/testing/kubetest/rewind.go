package kubetest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Rewind makes the server's data go back to its present state after do, as an administrator does who restores etcd from a backup: the server
// is stopped, its data is copied, it is started, do is called, it is stopped, the copy takes the place of the data, and it is started again.
// Connections end four times. The test must run alone, and no Recorder that was begun before may still record: each belongs to a subtest
// that has ended, or to do's.
func (c *Cluster) Rewind(t *testing.T, do func()) {
	t.Helper()
	data := c.dataDir()
	backup := filepath.Join(c.sandbox.place.dir, "backup")
	c.restart(t, func() error { return os.CopyFS(backup, os.DirFS(data)) })
	do()
	c.restart(t, func() error {
		if err := os.RemoveAll(data); err != nil {
			return err
		}
		return os.Rename(backup, data)
	})
}

// restart does something while the server is stopped. It keeps its address and its certificates.
func (c *Cluster) restart(t *testing.T, meanwhile func() error) {
	t.Helper()
	process.Lock()
	defer process.Unlock()
	if err := c.restartSandbox(meanwhile); err != nil {
		process.err = fmt.Errorf("restart the API server: %w", err) // no other test can use it
		t.Fatal(process.err)
	}
}

func (c *Cluster) restartSandbox(meanwhile func() error) error {
	if err := c.sandbox.halt(); err != nil {
		return err
	}
	if err := meanwhile(); err != nil {
		return err
	}
	next, err := runSandbox(c.sandbox.cmd.Path, c.sandbox.place)
	if err == nil {
		c.sandbox = next
	}
	return err
}
