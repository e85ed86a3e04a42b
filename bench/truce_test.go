package bench

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

func TestMain(m *testing.M) {
	if code, ok := compose.RunHidden(os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// prepare puts a repository and its apps' custom resources into the box, for truce to find.
func (x *box) prepare(files map[string]string, apps int) *gittest.Repo {
	x.b.Helper()
	return x.prepareIn(fluxs, files, apps)
}

func (x *box) prepareIn(d dialect, files map[string]string, apps int) *gittest.Repo {
	x.b.Helper()
	x.apply(documents(x.b, fill(namespace, "bench", "")))
	repo := gittest.New(x.b, files)
	x.apply(documents(x.b, d.resources(repo.Dir, apps)))
	return repo
}

// program builds truce, and returns its path. The build cache makes that quick.
func program(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "truce")
	if out, err := exec.Command("go", "build", "-o", path, "../cmd/truce").CombinedOutput(); err != nil {
		b.Fatalf("build truce: %v\n%s", err, out)
	}
	return path
}

// child is truce as users run it: a process of its own.
type child struct {
	b       *testing.B
	cmd     *exec.Cmd
	stopped bool
	peak    atomic.Uint64 // of its tree, in bytes, as sampled
	ended   chan struct{}
}

func (x *box) child(program string, flags ...string) *child {
	x.b.Helper()
	args := []string{"controller", "--kubeconfig", x.kubeconfig, "--local-sources", "--listen", "", "--cache-dir", x.b.TempDir(), "--log-level", "warn"}
	c := &child{b: x.b, cmd: exec.Command(program, append(args, flags...)...), ended: make(chan struct{})}
	c.cmd.Stderr = os.Stderr
	must(x.b, c.cmd.Start())
	x.b.Cleanup(func() { c.stop() })
	go c.sample()
	return c
}

// sampling is how often the memory of the tree is looked at.
const sampling = 200 * time.Millisecond

// sample keeps the largest proportional set size of the tree: what several processes have in common counts once.
func (c *child) sample() {
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		select {
		case <-c.ended:
			return
		case <-tick.C:
			c.peak.Store(max(c.peak.Load(), uint64(c.tree()*(1<<20))))
		}
	}
}

// tree is the proportional set size of truce and its helpers now, in MiB.
func (c *child) tree() float64 {
	pid := c.cmd.Process.Pid
	sum := proportional(pid)
	for _, p := range helpersOf(pid, 0) {
		sum += proportional(p)
	}
	return sum
}

func proportional(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) // a helper may have just ended
	_, rest, _ := strings.Cut(string(text), "\nPss:")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseFloat(kib, 64)
	return n / 1024
}

// stop ends the process and returns the CPU time that it and its own helpers took.
func (c *child) stop() time.Duration {
	if !c.stopped {
		c.stopped = true
		close(c.ended)
		must(c.b, c.cmd.Process.Signal(syscall.SIGTERM))
		_ = c.cmd.Wait() // after SIGTERM any exit code will do
	}
	return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime()
}

// memory reads a line of /proc/PID/status, of truce itself and summed over its helpers, in MiB. VmHWM is the peak, VmRSS what is held now.
func (c *child) memory(line string) (self, helpers float64) {
	pid := c.cmd.Process.Pid
	for _, p := range helpersOf(pid, 0) {
		helpers += memoryOf(p, line)
	}
	return memoryOf(pid, line), helpers
}

// helpersOf lists the children of a process, but for one. A child that has not begun its program yet still is the process itself, whose memory would
// count twice.
func helpersOf(pid, but int) []int {
	var out []int
	self := commandOf(pid)
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range tasks {
		list, _ := os.ReadFile(t) // a thread that has just ended has no children
		for _, p := range strings.Fields(string(list)) {
			if n, _ := strconv.Atoi(p); n != but && commandOf(n) != self {
				out = append(out, n)
			}
		}
	}
	return out
}

// commandOf is the command line of a process, empty once it has ended.
func commandOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // a helper may have just ended
	return string(text)
}

// cpu is the CPU time that truce has taken so far, without its helpers.
func (c *child) cpu() time.Duration { return cpuOf(c.cmd.Process.Pid) }

func cpuOf(pid int) time.Duration {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	var sum time.Duration
	for _, t := range tasks {
		text, err := os.ReadFile(t)
		if err != nil {
			continue // a thread that has just ended
		}
		ns, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(ns, 10, 64)
		sum += time.Duration(n)
	}
	return sum
}

func memoryOf(pid int, line string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // a helper may have just ended
	_, rest, _ := strings.Cut(string(text), line+":")
	kib, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	n, _ := strconv.ParseFloat(kib, 64)
	return n / 1024
}

// inside is truce in the process of the benchmark, where its memory and its requests can be looked at.
type inside struct {
	*compose.Running
	requests *requests
	stop     func()
}

func (x *box) inside() *inside {
	x.b.Helper()
	in := &inside{requests: &requests{count: map[string]int{}}}
	config := x.config()
	config.UserAgent, config.WarningHandler = "truce/bench", rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return in.requests.over(next) })
	client, err := cluster.NewClient(config)
	must(x.b, err)
	exe, err := os.Executable()
	must(x.b, err)
	in.Running, err = compose.Controller(compose.RunOptions{
		Settings: controller.Settings{
			CacheDir: x.b.TempDir(), LocalSources: controller.AllowLocal, Sources: egress.Policy{Allowed: []string{"127.0.0.0/8"}}, Log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		},
		Cluster: client, Executable: exe,
	})
	must(x.b, err)
	return in
}

// run starts the controller; it ends with the benchmark, or by stop.
func (in *inside) run(x *box) {
	ctx, cancel := context.WithCancel(x.ctx)
	done := make(chan error, 1)
	go func() { done <- in.Controller.Run(ctx) }()
	in.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			x.b.Errorf("controller: %v", err)
		}
		in.Close()
	})
	x.b.Cleanup(in.stop)
}

// requests counts what truce asks of the API server, by method and resource.
type requests struct {
	mu    sync.Mutex
	count map[string]int
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (q *requests) over(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		what := nameOf(r)
		q.mu.Lock()
		q.count[what]++
		q.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// nameOf says what a request is about, such as "patch-kustomizations-status".
func nameOf(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	skip := 2 // api/v1
	if parts[0] == "apis" {
		skip = 3
	}
	if len(parts) <= skip {
		return "discovery"
	}
	parts = parts[skip:]
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	verb := strings.ToLower(r.Method)
	switch {
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case verb == "get" && len(parts) == 1:
		verb = "list"
	}
	name := verb + "-" + parts[0]
	if len(parts) > 2 {
		name += "-" + parts[2]
	}
	return name
}

// take returns what was counted since the last time.
func (q *requests) take() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := q.count
	q.count = map[string]int{}
	return out
}

// sum returns how many there were since the last take.
func (q *requests) sum() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return total(q.count)
}

func total(count map[string]int) int {
	n := 0
	for _, c := range count {
		n += c
	}
	return n
}
