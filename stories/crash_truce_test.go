package stories

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// buildTruce returns the program as users get it, built once for all stories.
func buildTruce(t *testing.T) string {
	t.Helper()
	return kubetest.Start(t).Program(t, "../cmd/truce")
}

// host is a truce as a process of its own, which reaches the server and git by a toll only.
type host struct {
	toll                      *toll
	binary, kubeconfig, cache string
	namespaces                []string                // for which alone it works
	truce                     atomic.Pointer[process] // the proxy that kills it reads it too
}

// newHost makes a host whose truce does not run yet.
func newHost(t *testing.T, c *kubetest.Cluster, binary string, namespaces ...string) *host {
	t.Helper()
	h := &host{toll: newToll(t, truceConfig(t, c)), binary: binary, cache: t.TempDir(), namespaces: namespaces}
	h.kubeconfig = filepath.Join(h.cache, "kubeconfig")
	config := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"toll": {Server: h.toll.api, CertificateAuthorityData: h.toll.ca}},
		Contexts:       map[string]*clientcmdapi.Context{"toll": {Cluster: "toll"}},
		CurrentContext: "toll",
	}
	if err := clientcmd.WriteToFile(config, h.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return h
}

// stage is a world with a truce of that kind.
type stage struct {
	*world
	*host
	truce       *atomic.Pointer[process] // the host's
	client      dynamic.Interface        // past the toll
	reader      *cluster.Client          // the same, for truce's own parts that read; nil until one does
	deployments *kubetest.Recorder       // the one that scenes are about: web
	apps        *kubetest.Recorder       // the Kustomization
	pair        *pair                    // of truces, where one is elected; nil where there is but one
	still       []*kubetest.Recorder     // objects of which nothing may change
	pictured    []object.Object          // what the last picture was taken of
	other       neighbour                // the controller that already runs; the zero value for none
	wentBack    bool                     // lists have shown an older state: truce takes that for a restore, and prunes with its next run
}

// newStage makes a stage in a namespace of its own, for which alone truce works. Truce does not run yet.
func newStage(t *testing.T, c *kubetest.Cluster, binary, files string) *stage {
	t.Helper()
	ns := c.Namespace(t)
	s := newHost(t, c, binary, ns).stage(t, c, ns, files)
	t.Cleanup(s.leave)
	return s
}

// stage makes a stage in one of the host's namespaces. Its repository takes the place of that of the stage before.
func (h *host) stage(t *testing.T, c *kubetest.Cluster, ns, files string) *stage {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 5*patience)
	t.Cleanup(cancel)
	w := &world{Cluster: c, t: t, ctx: ctx, ns: ns}
	w.repo = gittest.NewTxtar(t, strings.ReplaceAll(files, "NAMESPACE", w.ns))
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		t.Fatal(err)
	}
	h.toll.serveGit(t, w.repo)
	return &stage{world: w, host: h, truce: &h.truce, client: client, deployments: w.Watch(t, deployments, ns, "web"), apps: w.Watch(t, kustomizations, ns, "web")}
}

// leave removes what the next stage's truce would find, while this one's truce still runs, and then ends it.
func (s *stage) leave() {
	if s.t.Failed() {
		s.confess()
	}
	s.toll.disarm()
	s.toll.mend()
	if !s.truce.Load().running() {
		s.begin()
	}
	s.removeApps()
	s.end()
}

// confess shows what truce has done and, by Go's own means, what each part of it is waiting for: that ends it.
func (s *stage) confess() {
	p := s.truce.Load()
	s.t.Logf("truce asked for, since the last count:\n%s\nit waits for %q, and computes: %v", strings.Join(s.toll.requests(), "\n"), s.toll.unanswered(), s.busy())
	var parts strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&parts, 1) // a Builder takes all
	for part := range strings.SplitSeq(parts.String(), "\n\n") {
		if strings.Contains(part, "(*toll)") {
			s.t.Logf("the proxy:\n%s", part)
		}
	}
	if s.pair != nil {
		s.t.Logf("the truces said:\n%s", s.pair.said())
	}
	if p.running() {
		if err := p.signal(syscall.SIGQUIT); err != nil {
			s.t.Error(err)
			return
		}
		<-p.ended
	}
	if p != nil {
		s.t.Logf("truce said:\n%s", p.said())
	}
}

// app creates the story's GitRepository, by the toll's address, and a Kustomization on it.
func (s *stage) app(spec string) {
	s.t.Helper()
	s.appAt("./app", spec)
}

func (s *stage) appAt(path, spec string) { s.named("web", path, spec) }

func (s *stage) named(name, path, spec string) {
	s.t.Helper()
	manifest := s.manifest(name, path, "interval: 1h\n"+spec)
	s.Apply(s.t, strings.ReplaceAll(manifest, "file://"+s.repo.Dir, s.toll.git))
}

// ready is world's, by the stage's own watch.
func (s *stage) ready(name string) {
	s.t.Helper()
	if name != "web" || s.apps == nil {
		s.world.ready(name)
		return
	}
	head := s.repo.Head()
	s.await(s.apps, func(o *unstructured.Unstructured) bool {
		revision, ok := readyAt(o)
		return ok && strings.HasSuffix(revision, head)
	})
}

// look makes truce look for a new commit: over HTTP it learns of one by asking.
func (s *stage) look() {
	s.t.Helper()
	s.requests++
	s.annotate(gitRepositories, "repo", "reconcile.fluxcd.io/requestedAt", fmt.Sprintf("look-%d", s.requests))
}

// start starts truce, unless it runs.
func (s *stage) start() {
	s.t.Helper()
	switch {
	case s.pair != nil:
		s.elect()
	case !s.truce.Load().running():
		s.begin()
	}
}

// busy reports whether truce has something to compute.
func (s *stage) busy() bool {
	if s.pair != nil {
		return s.pair.busy()
	}
	return s.truce.Load().busy()
}

// running reports whether truce runs.
func (s *stage) running() bool { return s.pair != nil || s.truce.Load().running() }

// begin starts truce.
func (s *stage) begin() {
	s.t.Helper()
	s.toll.next()
	log := filepath.Join(s.host.cache, "log")
	p, err := startProcess(log, s.binary, "controller", "--kubeconfig", s.kubeconfig, "--cache-dir", s.host.cache, "--listen", "", "--allow-source-hosts", "127.0.0.0/8",
		"--namespace", strings.Join(s.namespaces, ","))
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
		s.confess()
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

// until polls for what is cheap to look at.
func (s *stage) until(what string, is func() bool) {
	s.t.Helper()
	s.untilEvery(glance, what, is)
}

func (s *stage) untilEvery(pause time.Duration, what string, is func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.t.Fatalf("wait for %s: %v", what, ctx.Err())
		}
	}
}

// quiet waits until truce rests.
func (s *stage) quiet() {
	s.t.Helper()
	const silence = 400 * time.Millisecond
	rests := s.rests(silence)
	s.until("truce to come to rest", func() bool { return rests(s.toll.traffic()) })
}

// glance is how often the end of something is looked for.
const glance = 20 * time.Millisecond

// rests returns what is to be asked every glance: whether truce has asked for nothing for a while, waits for no answer, and has nothing to
// compute. A dead one does neither. It is glances that count, and not the time: on a busy machine the toll may not have come to hear of a request for long.
func (s *stage) rests(silence time.Duration) func(traffic) bool {
	var last traffic
	still := 0
	return func(now traffic) bool {
		if still++; now != last || now.open > 0 && s.running() {
			last, still = now, 0
		}
		enough := time.Duration(still)*glance >= silence
		if enough && s.busy() {
			still, enough = 0, false
		}
		return enough
	}
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
	return startProcessWith(nil, log, path, args...)
}

// startProcessWith is startProcess with further variables of the environment.
func startProcessWith(env []string, log, path string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr, cmd.Env = out, out, append(os.Environ(), env...)
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

// gone reports whether no process of the group runs any more. A dead process that was not waited for is not running.
func (p *process) gone() bool {
	return errors.Is(syscall.Kill(-p.pid, 0), syscall.ESRCH) || !slices.ContainsFunc(p.group(), func(m member) bool { return m.state != "Z" })
}

// busy reports whether a thread of the group computes, or waits for a processor or a disk.
func (p *process) busy() bool {
	return p.running() && computes(strconv.Itoa(p.pid))
}

// computes reports whether a thread of a process, or of one that it started, computes or waits for a processor or a disk. The kernel lists the
// children of each thread: to look through all processes of the machine instead took a sixth of what a trial with a fault costs this process.
func computes(pid string) bool {
	threads, err := os.ReadDir("/proc/" + pid + "/task")
	return err == nil && slices.ContainsFunc(threads, func(thread os.DirEntry) bool {
		at := "/proc/" + pid + "/task/" + thread.Name()
		if state, _ := stateOf(at + "/stat"); state == "R" || state == "D" {
			return true
		}
		children, err := os.ReadFile(at + "/children")
		return err == nil && slices.ContainsFunc(strings.Fields(string(children)), computes)
	})
}

// member is a process of a group.
type member struct{ pid, state string }

// group lists the processes of the group.
func (p *process) group() []member {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return []member{{state: err.Error()}}
	}
	var out []member
	for _, e := range entries {
		if e.Name()[0] < '0' || e.Name()[0] > '9' {
			continue
		}
		if state, group := stateOf("/proc/" + e.Name() + "/stat"); group == strconv.Itoa(p.pid) {
			out = append(out, member{e.Name(), state})
		}
	}
	return out
}

// stateOf reads the state and the group of a process or a thread; both are empty when it has just ended.
func stateOf(path string) (state, group string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", ""
	}
	_, rest, _ := strings.Cut(string(text), ") ") // pid (name) state ppid pgrp …, proc_pid_stat(5)
	if f := strings.Fields(rest); len(f) > 2 {
		return f[0], f[2]
	}
	return "", ""
}

// said is the log of this process and of those before it.
func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
