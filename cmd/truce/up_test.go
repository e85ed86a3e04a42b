package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUpBringsEverythingAndEndsIt runs `truce up` with a sandbox of its own, twice on one directory.
func TestUpBringsEverythingAndEndsIt(t *testing.T) {
	bin, dir := program(t), t.TempDir()
	first := startUp(t, bin, dir)
	if n := first.kubectl(t, "-n", "cart", "get", "deployment", "cart", "-o", "jsonpath={.spec.replicas}"); n != "3" {
		t.Errorf("the demo's cart has %s replicas, want 3", n)
	}
	response, err := http.Get(first.URL + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %s %v", response.Status, err)
	}
	uid := first.kubectl(t, "-n", "cart", "get", "deployment", "cart", "-o", "jsonpath={.metadata.uid}")
	first.end(t)

	second := startUp(t, bin, dir)
	if now := second.kubectl(t, "-n", "cart", "get", "deployment", "cart", "-o", "jsonpath={.metadata.uid}"); now != uid {
		t.Errorf("the second start made another Deployment: %s, want %s", now, uid)
	}
	second.end(t)
}

func TestTwoUpsDoNotShareADirectory(t *testing.T) {
	bin, dir := program(t), t.TempDir()
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(filepath.Join(bin, "truce"), "up", "--dir", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another `truce up` runs on "+dir) {
		t.Errorf("got %v: %s", err, out)
	}
}

// up is a running `truce up`.
type up struct {
	cmd                            *exec.Cmd
	out                            *bytes.Buffer
	Kubeconfig, Repo, URL, Kubectl string
	Context                        string
	Brought                        []string
}

const upWithin = 3 * time.Minute

func startUp(t *testing.T, bin, dir string) *up {
	t.Helper()
	return startUpWith(t, bin, dir, "TRUCE_SANDBOX="+filepath.Join(kubectlDir(), "truce-sandbox"))
}

func startUpWith(t *testing.T, bin, dir, variable string, flags ...string) *up {
	t.Helper()
	ready := filepath.Join(t.TempDir(), "ready.json")
	u := &up{cmd: exec.Command(filepath.Join(bin, "truce"), append([]string{"up", "--dir", dir, "--ready-file", ready}, flags...)...), out: &bytes.Buffer{}}
	u.cmd.Env = append(os.Environ(), variable)
	u.cmd.Stdout, u.cmd.Stderr = u.out, u.out
	if err := u.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = u.cmd.Process.Kill() }) // it has ended long ago, unless the test failed
	deadline := time.After(upWithin)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		text, err := os.ReadFile(ready)
		if err == nil {
			if err := json.Unmarshal(text, u); err != nil {
				t.Fatal(err)
			}
			return u
		}
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		select {
		case <-look.C:
		case <-deadline:
			t.Fatalf("not ready within %s:\n%s", upWithin, u.out)
		}
	}
}

func (u *up) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), u.Kubectl, append([]string{"--kubeconfig", u.Kubeconfig}, args...)...).Output()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// end does what Ctrl-C does. Truce and its API server must be gone within the five seconds that are promised.
func (u *up) end(t *testing.T) {
	t.Helper()
	if err := interrupt(u.cmd); err != nil {
		t.Fatalf("end: %v\n%s", err, u.out)
	}
	if err := exec.CommandContext(t.Context(), u.Kubectl, "--kubeconfig", u.Kubeconfig, "get", "--raw", "/readyz").Run(); err == nil {
		t.Error("the API server is still there")
	}
}
