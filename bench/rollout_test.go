package bench

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkRollout measures the first rollout of many small apps, from the start of the truce process (its custom resources and
// the repository are there) until all are Ready with wait: true. The bare client applies the same objects before and after.
func BenchmarkRollout(b *testing.B) { rollOuts(b, work{text: podinfo, dialect: fluxs}, 100) }

// BenchmarkApplications is the same with Argo CD's Applications, until all are Synced and Healthy.
func BenchmarkApplications(b *testing.B) { rollOuts(b, work{text: podinfo, dialect: argos}, 500) }

// BenchmarkLateRollout is the same with a pod in each Deployment, which becomes ready after 300 ms: no other app may wait for it.
func BenchmarkLateRollout(b *testing.B) {
	one := strings.NewReplacer("replicas: 0", "replicas: 1", "minReadySeconds: 3", "minReadySeconds: 0").Replace(podinfo)
	rollOuts(b, work{text: one, dialect: fluxs, pods: 1, flags: []string{"--pod-ready-delay", "300ms"}}, 100)
}

// BenchmarkManySources is Rollout with a repository of its own for each app.
func BenchmarkManySources(b *testing.B) {
	rollOuts(b, work{text: podinfo, dialect: fluxs, sources: ownSources}, 100)
}

// sources is where the apps of a rollout come from.
type sources int

const (
	oneSource  sources = iota // directories of one repository
	ownSources                // a repository for each
)

// work is what is rolled out.
type work struct {
	sources sources
	text    string // of an app
	dialect dialect
	pods    int64 // of each Deployment
	flags   []string
}

func rollOuts(b *testing.B, w work, short int) {
	truce := program(b)
	for _, n := range sizes(b, short) {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			var r rollout
			for b.Loop() {
				r = w.rollOut(b, truce, n)
			}
			r.report(b)
		})
	}
}

// rollout is one rollout beside the bare client's.
type rollout struct {
	truce, bare, bareHealthy time.Duration
	books                    time.Duration // for the bare client, of the apps' records, finalizers and statuses
	cpu                      time.Duration // of truce and its helpers
	server, bareServer       time.Duration // CPU of the server, until all are healthy
	self, helpers, tree      float64       // peaks, MiB
}

// podsPerNode leaves room on the nodes for the three rollouts of one measurement.
const podsPerNode = 25

func (w work) rollOut(b *testing.B, truce string, n int) rollout {
	x := startBox(b, append(w.flags, "--nodes", strconv.Itoa(1+n/podsPerNode*int(w.pods)))...)
	w.prepare(x, n)
	x.apply(documents(b, fill(namespace, "shop", "")))
	var r rollout
	x.cpu()
	first, firstHealthy := w.bare(x, "bare-1", n)
	r.bareServer = x.cpu()

	begin := time.Now()
	c := x.child(truce)
	x.await(w.dialect.apps, "bench", n, w.dialect.done)
	r.truce, r.server = time.Since(begin), x.cpu()
	r.self, r.helpers = c.memory("VmHWM")
	r.tree = float64(c.peak.Load()) / (1 << 20)
	r.cpu = c.stop()
	if got := x.count(deployments, "shop") + x.count(services, "shop") + x.count(ingresses, "shop") + x.count(serviceAccounts, "shop"); got < 4*n {
		b.Fatalf("all apps are ready, but there are %d of %d objects", got, 4*n)
	}

	x.cpu()
	second, secondHealthy := w.bare(x, "bare-2", n)
	r.bareServer = (r.bareServer + x.cpu()) / 2
	r.bare, r.bareHealthy = (first+second)/2, (firstHealthy+secondHealthy)/2
	r.books = w.keepBooks(x, "copies")
	return r
}

// prepare makes what truce will find.
func (w work) prepare(x *box, n int) {
	if w.sources == oneSource {
		x.prepareIn(w.dialect, small(w.text, "shop", n), n)
		return
	}
	x.apply(documents(x.b, fill(namespace, "bench", "")))
	x.apply(documents(x.b, sourceEach(x.b, w.text, n)))
}

// bare applies the same objects to another namespace, and returns when they were answered, and when they were healthy.
func (w work) bare(x *box, ns string, n int) (answered, healthy time.Duration) {
	x.apply(documents(x.b, fill(namespace, ns, "")))
	var objects []*unstructured.Unstructured
	for i := range n {
		objects = append(objects, documents(x.b, fill(w.text, ns, fmt.Sprintf("app-%05d", i)))...)
	}
	begin := time.Now()
	answered = x.apply(objects)
	x.await(deployments, ns, n, func(o *unstructured.Unstructured) bool {
		seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		available, _, _ := unstructured.NestedInt64(o.Object, "status", "availableReplicas")
		return seen == o.GetGeneration() && available == w.pods
	})
	return answered, time.Since(begin)
}

func (r rollout) report(b *testing.B) {
	b.ReportMetric(0, "ns/op") // includes the making of the world
	b.ReportMetric(ratio(r.truce, r.bare), "ratio")
	b.ReportMetric(ratio(r.truce, r.bareHealthy), "ratio-healthy")
	b.ReportMetric(ratio(r.truce, r.bare+r.books), "ratio-same")
	b.ReportMetric(ratio(r.server, r.bareServer), "server-ratio")
	b.ReportMetric(ratio(r.cpu, r.bareServer), "cpu-ratio")
	b.ReportMetric(r.truce.Seconds(), "truce-s")
	b.ReportMetric(r.bare.Seconds(), "bare-s")
	b.ReportMetric(r.cpu.Seconds(), "cpu-s")
	b.ReportMetric(r.self, "peak-MiB")
	b.ReportMetric(r.helpers, "helpers-MiB")
	b.ReportMetric(r.tree, "tree-MiB")
}
