package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/keys"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// The test binary is also the worker, and a builder that misbehaves on command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "render-worker" {
		os.Exit(RunWorker(naughty{&kustomize.Renderer{Plain: plain.Renderer{}}}, os.Stdin, os.Stdout))
	}
	if len(os.Args) > 1 && os.Args[1] == "answer-worker" {
		os.Exit(ServeAnswers(naughtyAnswer, os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// naughtyAnswer computes for ever, or has no processor for much longer than a test allows it one.
func naughtyAnswer(ctx context.Context, input []byte) ([]byte, error) {
	for string(input) == "compute" {
	}
	idle, cancel := context.WithTimeout(ctx, 2*processorTimeOfTests)
	defer cancel()
	<-idle.Done()
	return input, nil
}

// naughty does what the path says, else what the real builder does.
type naughty struct{ *kustomize.Renderer }

func (n naughty) Render(ctx context.Context, r render.Request) (render.Result, error) {
	switch r.Path {
	case "inflate":
		return render.Result{Inflated: true}, nil
	case "crash":
		panic("as told")
	case "hang":
		select {}
	case "die":
		os.Exit(7)
	case "eat":
		var kept [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = byte(i)
			}
			kept = append(kept, b)
			runtime.KeepAlive(kept)
		}
	case "key":
		key, err := r.KeyService.DecryptKey(ctx, keys.Master{Kind: keys.Vault, Encrypted: "sealed"})
		return render.Result{Secrets: keys.Values{string(key), r.Decryption.Keys["a"]}}, err
	case "lookup", "lookups":
		return askCluster(ctx, r)
	case "files":
		_, err := os.ReadFile("/etc/passwd")
		_, dial := net.Dial("tcp", "127.0.0.1:1")
		return render.Result{}, fmt.Errorf("read: %w, dial: %w, environment %q", err, dial, os.Environ())
	}
	return n.Renderer.Render(ctx, r)
}

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"

func shop() given.Tree {
	return given.Files("kustomization.yaml", "namePrefix: my-\nresources: [a.yaml]\n", "a.yaml", configMap)
}

func newPool(t testing.TB, size int) *Pool {
	t.Helper()
	return newPatientPool(t, size, 0)
}

func newPatientPool(t testing.TB, size int, patience time.Duration) *Pool {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(Options{Executable: exe, Args: []string{"render-worker"}, Size: size, Patience: patience})
	t.Cleanup(p.Close)
	return p
}

func names(r render.Result) []string {
	var all []string
	for _, o := range r.Objects {
		all = append(all, fmt.Sprintf("%s %s:%d", o.Data.ID(), o.File, o.Line))
	}
	return all
}

func mustRender(t *testing.T, p *Pool, tree given.Tree) render.Result {
	t.Helper()
	res, err := p.Render(t.Context(), render.Request{Files: tree, Path: "."})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestAWorkerBuildsWhatTheRendererBuilds(t *testing.T) {
	p := newPool(t, 1)
	res := mustRender(t, p, shop())
	if diff := cmp.Diff([]string{"ConfigMap my-a a.yaml:1"}, names(res)); diff != "" {
		t.Error(diff)
	}
	direct, err := (&kustomize.Renderer{}).Render(t.Context(), render.Request{Files: shop(), Path: "."})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(direct, res); diff != "" {
		t.Error(diff)
	}
}

// TestTheKindOfTheAppReachesTheWorker: a Kustomization's root is read as kustomize-controller reads it.
// TestAResultSaysWhetherChartsAreInIt: what could name charts and names none has none.
func TestAResultSaysWhetherChartsAreInIt(t *testing.T) {
	p := newPool(t, 1)
	for path, want := range map[string]bool{"inflate": true, ".": false} {
		got, err := p.Render(t.Context(), render.Request{Files: shop(), Path: path, Inflate: &release.Request{}})
		if err != nil || got.Inflated != want {
			t.Errorf("%s: inflated %v, %v", path, got.Inflated, err)
		}
	}
}

func TestTheKindOfTheAppReachesTheWorker(t *testing.T) {
	p := newPool(t, 1)
	for kind, fails := range map[string]bool{"Kustomization": false, "Application": true} {
		tree := given.Files("kustomization.yaml", "commonLabels: {build: 7}\nresources: [a.yaml]\n", "a.yaml", configMap)
		_, err := p.Render(t.Context(), render.Request{Files: tree, Path: ".", Home: object.ID{Kind: kind}})
		if (err != nil) != fails {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestABadBuildTakesOnlyItsWorkerAlong(t *testing.T) {
	p := newPool(t, 1)
	for path, c := range map[string]struct {
		limits render.Limits
		want   string
		limit  bool
		time   bool
	}{
		"crash": {want: "render crash: worker ended: panic: as told"},
		"die":   {want: "render die: worker ended: unexpected EOF"},
		"hang":  {limits: render.Limits{Time: 50 * time.Millisecond}, want: "render hang: took longer than 50ms: limit exceeded", limit: true, time: true},
		"eat":   {limits: render.Limits{Memory: 128 << 20}, want: "render eat: used more than 128 MiB of memory: limit exceeded", limit: true},
	} {
		t.Run(path, func(t *testing.T) {
			_, err := p.Render(t.Context(), render.Request{Files: given.Files(), Path: path, Limits: c.limits})
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if errors.Is(err, render.ErrLimit) != c.limit {
				t.Errorf("is a limit: %v", !c.limit)
			}
			var late interface{ Timeout() bool }
			if errors.As(err, &late) != c.time {
				t.Errorf("is about time: %v", !c.time)
			}
			if diff := cmp.Diff([]string{"ConfigMap my-a a.yaml:1"}, names(mustRender(t, p, shop()))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestABuildMayUseNoMoreThanThePoolGives, whatever its own limits allow.
func TestABuildMayUseNoMoreThanThePoolGives(t *testing.T) {
	p := newPool(t, 1)
	p.options.Memory = 100 << 20
	for _, limits := range []render.Limits{{}, {Memory: 1 << 30}} {
		_, err := p.Render(t.Context(), render.Request{Files: given.Files(), Path: "eat", Limits: limits})
		if !errors.Is(err, render.ErrLimit) || err.Error() != "render eat: used more than 100 MiB of memory: limit exceeded" {
			t.Error(err)
		}
	}
	_, err := p.Render(t.Context(), render.Request{Files: given.Files(), Path: "eat", Limits: render.Limits{Memory: 90 << 20}})
	if err == nil || err.Error() != "render eat: used more than 90 MiB of memory: limit exceeded" {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"ConfigMap my-a a.yaml:1"}, names(mustRender(t, p, shop()))); diff != "" {
		t.Error(diff)
	}
}

const processorTimeOfTests = time.Second / 2 // more than a process that has started takes to wait

// TestAnAnswerIsAllowedTimeOnAProcessor: on a busy machine it waits for one for longer than it computes.
func TestAnAnswerIsAllowedTimeOnAProcessor(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := NewPool(Options{Executable: exe, Args: []string{"answer-worker"}, Size: 1})
	t.Cleanup(p.Close)
	if _, err := p.Call(t.Context(), []byte("start"), render.Limits{Time: time.Minute}); err != nil { // the start of a process takes time, too
		t.Fatal(err)
	}
	started := pid(p)
	limits := render.Limits{Time: processorTimeOfTests}
	if got, err := p.Call(t.Context(), []byte("wait"), limits); string(got) != "wait" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if started == 0 || pid(p) != started {
		t.Errorf("process %d started, and %d waited", started, pid(p))
	}
	var slow interface{ Timeout() bool }
	if _, err := p.Call(t.Context(), []byte("compute"), limits); !errors.Is(err, render.ErrLimit) || !errors.As(err, &slow) {
		t.Errorf("got %v", err)
	}
}

func TestErrorsKeepTheirPlaceThroughThePipe(t *testing.T) {
	p := newPool(t, 1)
	_, err := p.Render(t.Context(), render.Request{Files: given.Files("k/kustomization.yaml", "resources:\n- a.yaml\n"), Path: "k"})
	var at *render.Error
	if !errors.As(err, &at) || at.File != "k/kustomization.yaml" || at.Line != 2 {
		t.Fatalf("%#v: %v", at, err)
	}
	if err.Error() != "render k: k/kustomization.yaml:2: a.yaml: no such file" {
		t.Error(err)
	}
}

func TestABuildThatBringsASchemaPoisonsNobody(t *testing.T) {
	const resources = "\nresources: [a.yaml]\n"
	for what, c := range map[string]struct {
		kustomization string
		fails         bool
	}{
		"as it is documented":   {"openapi: {path: s.json}" + resources, false},
		"a key in capitals":     {"OpenAPI: {path: s.json}" + resources, false},
		"of a base":             {"resources: [base]\n", false},
		"by a merge key":        {"<<: {openapi: {path: s.json}}" + resources, false},
		"in a build that fails": {"OpenAPI: {path: s.json}\npatches: [{patch: 'a: b'}]" + resources, true},
		"an unknown version":    {"openapi: {version: v0.0.0}" + resources, true},
	} {
		t.Run(what, func(t *testing.T) {
			p := newPool(t, 1)
			before := mustRender(t, p, shop())
			first := pid(p)
			schema := `{"definitions":{"x":{"x-kubernetes-group-version-kind":[{"group":"","kind":"ConfigMap","version":"v1"}]}}}`
			poison := given.Files("kustomization.yaml", c.kustomization, "a.yaml", configMap, "s.json", schema,
				"base/kustomization.yaml", "OPENAPI: {path: s.json}"+resources, "base/a.yaml", configMap, "base/s.json", schema)
			_, err := p.Render(t.Context(), render.Request{Files: poison, Path: "."})
			if (err != nil) != c.fails {
				t.Error(err)
			}
			if pid(p) != 0 {
				t.Error("the worker was kept")
			}
			if diff := cmp.Diff(before, mustRender(t, p, shop())); diff != "" {
				t.Error(diff)
			}
			if pid(p) == first {
				t.Error("the same worker builds on")
			}
		})
	}
}

// warm is the worker that would build next, nil if one must be started.
func warm(p *Pool) *worker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.warm) == 0 {
		return nil
	}
	return p.warm[len(p.warm)-1]
}

// pid is the process of the only, idle worker, 0 if there is none.
func pid(p *Pool) int {
	if w := warm(p); w != nil {
		return w.cmd.Process.Pid
	}
	return 0
}

func TestWorkersStayWarm(t *testing.T) {
	p := newPool(t, 1)
	mustRender(t, p, shop())
	first := pid(p)
	mustRender(t, p, shop())
	if first == 0 || pid(p) != first {
		t.Errorf("worker %d became %d", first, pid(p))
	}
}

// releases counts calls of Release.
type releases struct{ count int }

func (r *releases) Release() { r.count++ }

func TestAWorkerThatHasNothingToDoEnds(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var later []func() // what was to be done after a pause, whether it was stopped or not
	rested := &releases{}
	p := NewPool(Options{Executable: exe, Args: []string{"render-worker"}, Size: 2, Idle: rested, After: func(d time.Duration, f func()) func() bool {
		if d != idleTime {
			t.Errorf("a pause of %s", d)
		}
		later = append(later, f)
		return func() bool { return true }
	}})
	t.Cleanup(p.Close)
	mustRender(t, p, shop())
	mustRender(t, p, shop())
	w := warm(p)
	later[0]() // too late to be stopped: another build has begun since
	if warm(p) != w || !w.alive() || rested.count > 0 {
		t.Fatal("the worker ended while it was needed")
	}
	later[1]()
	if warm(p) != nil || w.alive() || rested.count != 1 {
		t.Errorf("the worker waits on, or Release was called %d times", rested.count)
	}
	mustRender(t, p, shop())
	if pid(p) == 0 {
		t.Error("no worker was started again")
	}
}

func TestOneBuildAfterTheOtherTakesOneWorker(t *testing.T) {
	p := newPool(t, 2)
	mustRender(t, p, shop())
	first := pid(p)
	for range 3 {
		mustRender(t, p, shop())
	}
	if pid(p) != first || len(p.warm) != 1 {
		t.Errorf("worker %d became %d, of %d", first, pid(p), len(p.warm))
	}
}

func TestADeadIdleWorkerIsReplaced(t *testing.T) {
	p := newPool(t, 1)
	mustRender(t, p, shop())
	w := warm(p)
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-w.exited
	mustRender(t, p, shop())
}

func TestCancellationKillsTheBuild(t *testing.T) {
	p := newPool(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := p.Render(ctx, render.Request{Files: given.Files(), Path: "hang"})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	mustRender(t, p, shop())
}

func TestOneSlowBuildDelaysNoOther(t *testing.T) {
	p := newPatientPool(t, 2, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	var slow sync.WaitGroup
	slow.Go(func() {
		if _, err := p.Render(ctx, render.Request{Files: given.Files(), Path: "hang"}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	for range 5 {
		mustRender(t, p, shop())
	}
	cancel()
	slow.Wait()
}

func TestManyBuildsAtOnceAgree(t *testing.T) {
	t.Run("in workers of their own", func(t *testing.T) { agree(t, newPool(t, 2)) })
	t.Run("in one worker, for which they wait", func(t *testing.T) {
		p := newPatientPool(t, 4, time.Hour)
		agree(t, p)
		if len(p.warm) != 1 {
			t.Errorf("there are %d workers", len(p.warm))
		}
	})
}

func agree(t *testing.T, p *Pool) {
	t.Helper()
	want := mustRender(t, p, shop())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			res, err := p.Render(t.Context(), render.Request{Files: shop(), Path: "."})
			if diff := cmp.Diff(want, res); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
	all.Wait()
}

func TestAWorkerHoldsNothingOfOurs(t *testing.T) {
	t.Setenv("TOKEN", "canary")
	p := newPool(t, 1)
	_, err := p.Render(t.Context(), render.Request{Files: given.Files(), Path: "files"})
	if err == nil || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
	if !withCgo && landlocked() && strings.Count(err.Error(), "permission denied") != 2 {
		t.Errorf("the kernel lets it: %v", err)
	}
}

// landlocked reports whether the kernel has Landlock with rules for TCP (Linux 6.7).
func landlocked() bool {
	abi, _, errno := syscall.Syscall(444, 0, 0, 1)
	return runtime.GOOS == "linux" && errno == 0 && abi >= 4
}

func TestWorkersLeakNoDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("descriptors are counted on Linux only")
		return
	}
	p := newPool(t, 1)
	mustRender(t, p, shop())
	before := descriptors(t)
	for range 10 {
		if _, err := p.Render(t.Context(), render.Request{Files: given.Files(), Path: "die"}); err == nil {
			t.Fatal("no error")
		}
	}
	mustRender(t, p, shop())
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestAWorkerEndsWithItsPool(t *testing.T) {
	p := newPool(t, 1)
	mustRender(t, p, shop())
	w, _ := p.pop()
	if err := w.in.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.exited:
	case <-time.After(time.Minute):
		t.Error("the worker lives on")
	}
	w.kill()
}

func TestAClosedPoolSaysSo(t *testing.T) {
	p := newPool(t, 1)
	p.Close()
	if _, err := p.Render(t.Context(), render.Request{Files: shop(), Path: "."}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// service knows one data key.
type service struct{}

func (service) DecryptKey(_ context.Context, m keys.Master) ([]byte, error) {
	return []byte("opened " + m.Encrypted), nil
}

// TestABuildHasItsKeysAndAsksThePoolForOthers: a worker has no network, and the pool's key service decrypts for it.
func TestABuildHasItsKeysAndAsksThePoolForOthers(t *testing.T) {
	p := newPool(t, 1)
	r := render.Request{Path: "key", Files: shop(), Decryption: &keys.Set{Keys: map[string]string{"a": "age"}}}
	if _, err := p.Render(t.Context(), r); err == nil || !strings.Contains(err.Error(), "no key service") {
		t.Error(err)
	}
	p = newPool(t, 1)
	p.UseKeyService(service{})
	res, err := p.Render(t.Context(), r)
	if err != nil || len(res.Secrets) != 2 || res.Secrets[0] != "opened sealed" || res.Secrets[1] != "age" {
		t.Errorf("%q, %v", []string(res.Secrets), err)
	}
}
