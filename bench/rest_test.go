package bench

import (
	"fmt"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// window is how long a world at rest is looked at.
const window = 5 * time.Second

// BenchmarkRest measures what managed objects cost while nothing changes: half of them ConfigMaps, half Deployments, 100 an app.
func BenchmarkRest(b *testing.B) {
	truce := program(b)
	for _, n := range sizes(b, 1000) {
		b.Run(fmt.Sprintf("objects=%d", n), func(b *testing.B) {
			for b.Loop() {
				atRest(b, truce, n)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func atRest(b *testing.B, truce string, n int) {
	x := startBox(b)
	files, apps := large("shop", n, deployment, configMap)
	x.apply(documents(b, fill(namespace, "shop", "")+"\n---\n"+fill(namespace, "bench", "")))
	in := x.inside()
	in.run(x)
	in.quiet(x)
	empty := heap()
	x.prepare(files, apps)
	x.await(kustomizations, "bench", apps, ready)
	in.quiet(x)
	x.alone(os.Getpid())
	b.ReportMetric(float64(heap()-empty)/float64(n), "heap-B/object")
	profile(b)

	in.requests.take()
	kubetest.Span(x.ctx, window) // rest is measured over a span of time, and nothing happens in it
	perHour := float64(time.Hour) / float64(window)
	b.ReportMetric(float64(total(in.requests.take()))*perHour/float64(n), "requests/object/h")
	x.askAll(apps)
	in.quiet(x)
	b.ReportMetric(float64(total(in.requests.take()))/float64(n), "requests/object/check")
	in.stop()

	again := x.inside()
	again.run(x)
	x.askAll(apps)
	again.quiet(x)
	b.ReportMetric(float64(total(again.requests.take()))/float64(n), "requests/object/restart")
	again.stop()
	restart(x, truce, apps)
}

// restart looks at a truce that finds everything as the one before it has left it: what another version has rendered, truce renders once more.
func restart(x *box, truce string, apps int) {
	before := x.child(truce)
	before.rests()
	x.askAll(apps)
	before.rests()
	before.stop()
	begin := time.Now()
	c := x.child(truce)
	x.b.ReportMetric(c.rests().Sub(begin).Seconds(), "restart-s")
	x.askAll(apps)
	x.alone(c.cmd.Process.Pid)
	cpu := c.cpu()
	kubetest.Span(x.ctx, window) // rest is measured over a span of time, and nothing happens in it
	x.b.ReportMetric(100*(c.cpu()-cpu).Seconds()/window.Seconds(), "cpu-%")
	self, helpers := c.memory("VmRSS")
	x.b.ReportMetric(self+helpers, "rss-MiB")
	x.b.ReportMetric(c.tree(), "tree-MiB")
	c.stop()
}

// rests returns when the process and its helpers do nothing any more, and since when.
func (c *child) rests() time.Time {
	const (
		pause = 100 * time.Millisecond
		quiet = 15 // pauses in a row
		idle  = 5 * time.Millisecond
	)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	since, last := time.Now(), time.Duration(-1)
	for still := 0; still < quiet; still++ {
		<-tick.C
		now := c.cpu()
		for _, h := range helpersOf(c.cmd.Process.Pid, 0) {
			now += cpuOf(h)
		}
		if now < last || now-last > idle {
			since, still = time.Now(), 0
		}
		last = now
	}
	return since
}

// askAll asks for a full check of each app, and waits for all of them.
func (x *box) askAll(apps int) {
	token := time.Now().Format(time.RFC3339Nano)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, token)
	for i := range apps {
		_, err := x.dynamic.Resource(kustomizations).Namespace("bench").Patch(x.ctx, fmt.Sprintf("app-%05d", i), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		must(x.b, err)
	}
	x.await(kustomizations, "bench", apps, func(o *unstructured.Unstructured) bool {
		at, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
		return at == token && ready(o)
	})
}

// quietFor is how long nothing is asked of the server before truce counts as at rest. In the first 15 s it asks, at most 8 s after the time before, for
// claimants of a kind that the server does not serve beside others of its group, such as Rollouts beside Applications.
const quietFor = 9 * time.Second

// quiet returns when nothing was asked of the server for that long.
func (in *inside) quiet(x *box) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, since := -1, time.Now()
	for {
		select {
		case <-tick.C:
		case <-x.ctx.Done():
			x.b.Fatal("truce does not come to rest")
		}
		switch now := in.requests.sum(); {
		case now != last:
			last, since = now, time.Now()
		case time.Since(since) >= quietFor:
			return
		}
	}
}

// alone returns when a process has no helpers left: at rest they end after a while, and what they have read is let go.
func (x *box) alone(pid int) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for len(helpersOf(pid, x.pid)) > 0 {
		select {
		case <-tick.C:
		case <-x.ctx.Done():
			x.b.Fatal("the helpers do not end")
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC() // the first leaves what finalizers and pools still hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// profile writes what is on the heap now to the file that TRUCE_BENCH_HEAP names.
func profile(b *testing.B) {
	path := os.Getenv("TRUCE_BENCH_HEAP")
	if path == "" {
		return
	}
	f, err := os.Create(path)
	must(b, err)
	must(b, pprof.Lookup("heap").WriteTo(f, 0))
	must(b, f.Close())
}
