package stories

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/gittest"
	"github.com/truce-gitops/truce/internal/kubetest"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// buildTruce builds the program as users get it, once for a test.
func buildTruce(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "truce")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../cmd/truce").CombinedOutput(); err != nil {
		t.Fatalf("build truce: %v\n%s", err, out)
	}
	return path
}

// stage is a world whose truce is a process of its own that reaches the server and git by a toll only.
type stage struct {
	*world
	toll   *toll
	client dynamic.Interface // past the toll

	binary, kubeconfig, cache string
	truce                     atomic.Pointer[process] // the proxy that kills it reads it too
	deployments               *kubetest.Recorder      // the one that scenes are about: web
}

// newStage makes a stage in a namespace of its own. Truce does not run yet.
func newStage(t *testing.T, c *kubetest.Cluster, binary, files string) *stage {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*patience)
	t.Cleanup(cancel)
	w := &world{Cluster: c, t: t, ctx: ctx, ns: c.Namespace(t)}
	w.repo = gittest.NewTxtar(t, strings.ReplaceAll(files, "NAMESPACE", w.ns))
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{world: w, client: client, toll: newToll(t, c.Config(), w.repo), binary: binary, cache: t.TempDir()}
	s.kubeconfig = filepath.Join(s.cache, "kubeconfig")
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"toll": {Server: s.toll.api, CertificateAuthorityData: s.toll.ca}},
		Contexts:       map[string]*clientcmdapi.Context{"toll": {Cluster: "toll"}},
		CurrentContext: "toll",
	}
	if err := clientcmd.WriteToFile(config, s.kubeconfig); err != nil {
		t.Fatal(err)
	}
	s.deployments = w.Watch(t, deployments, w.ns, "web")
	t.Cleanup(s.leave)
	return s
}

// leave removes what the next stage's truce would find, while this one's truce still runs, and then ends it.
func (s *stage) leave() {
	s.toll.arm(0, death{})
	s.toll.mend()
	if !s.truce.Load().running() {
		s.begin()
	}
	s.removeApps()
	s.end()
	if s.t.Failed() {
		s.t.Logf("truce said:\n%s", s.truce.Load().said())
	}
}

// app creates the story's GitRepository, by the toll's address, and a Kustomization on it.
func (s *stage) app(spec string) {
	s.t.Helper()
	manifest := s.manifest("web", "./app", "interval: 1h\n"+spec)
	s.Apply(s.t, strings.ReplaceAll(manifest, "file://"+s.repo.Dir, s.toll.git))
}

// look makes truce look for a new commit: over HTTP it learns of one by asking.
func (s *stage) look() {
	s.t.Helper()
	s.requests++
	s.kubectl("annotate", "--overwrite", "gitrepository/repo", fmt.Sprintf("reconcile.fluxcd.io/requestedAt=look-%d", s.requests))
}

// begin starts truce.
func (s *stage) begin() {
	s.t.Helper()
	log := filepath.Join(s.cache, "log")
	p, err := startProcess(log, s.binary, "controller", "--kubeconfig", s.kubeconfig, "--cache-dir", s.cache, "--listen", "")
	if err != nil {
		s.t.Fatal(err)
	}
	s.truce.Store(p)
}

// end asks truce to end, and checks that it does, and that all that it started ends too.
func (s *stage) end() {
	s.t.Helper()
	if err := s.truce.Load().signal(syscall.SIGTERM); err != nil {
		s.t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	select {
	case <-s.truce.Load().ended:
	case <-ctx.Done():
		s.t.Error("truce does not end on SIGTERM")
		s.kill()
	}
	if s.truce.Load().err != nil {
		s.t.Errorf("truce ended with %v", s.truce.Load().err)
	}
	s.childless()
}

// kill ends truce as the kernel does, and returns when it is gone.
func (s *stage) kill() {
	if err := s.truce.Load().signal(syscall.SIGKILL); err != nil {
		s.t.Error(err)
		return
	}
	<-s.truce.Load().ended
}

// childless waits until no process is left of truce's group: helpers must not outlive it.
func (s *stage) childless() {
	s.t.Helper()
	s.until("the end of the processes that truce started", func() bool { return s.truce.Load().gone() })
}

// until polls.
func (s *stage) until(what string, is func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("wait for %s: %v", what, ctx.Err())
		}
	}
}

// quiet waits until truce has asked for nothing for a while.
func (s *stage) quiet() {
	s.t.Helper()
	const silence = 400 * time.Millisecond
	n, since := len(s.toll.requests()), time.Now()
	s.until("truce to come to rest", func() bool {
		if now := len(s.toll.requests()); now != n {
			n, since = now, time.Now()
		}
		return time.Since(since) >= silence
	})
}

// process is a running truce.
type process struct {
	pid   int
	log   string
	ended chan struct{}
	err   error // after ended
}

// startProcess starts a program that dies with this one. The kernel ties that to the thread, which is why it is kept.
func startProcess(log, path string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p := &process{log: log, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

func (p *process) running() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) error {
	if !p.running() {
		return fmt.Errorf("truce has ended before: %w\n%s", p.err, p.said())
	}
	return syscall.Kill(p.pid, s)
}

// gone reports whether no process of the group runs any more. A dead one that nobody has asked about is not running.
func (p *process) gone() bool {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return false
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // pid (name) state ppid pgrp …, proc_pid_stat(5)
		f := strings.Fields(rest)
		if len(f) > 2 && f[2] == strconv.Itoa(p.pid) && f[0] != "Z" {
			return false
		}
	}
	return true
}

// said is the log of this process and of those before it.
func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
