package bench

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkRollout measures the first rollout of many small apps, from the start of the truce process (its custom resources and
// the repository are there) until all are Ready with wait: true. The bare client applies the same objects before and after.
func BenchmarkRollout(b *testing.B) {
	truce := program(b)
	for _, n := range sizes(b, 100) {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			var r rollout
			for b.Loop() {
				r = rollOut(b, truce, n)
			}
			r.report(b)
		})
	}
}

// rollout is one rollout beside the bare client's.
type rollout struct {
	truce, bare, bareHealthy time.Duration
	cpu                      time.Duration
	self, helpers            float64 // MiB
}

func rollOut(b *testing.B, truce string, n int) rollout {
	x := startBox(b)
	x.prepare(small("shop", n), n)
	x.apply(documents(b, fill(namespace, "shop", "")))
	var r rollout
	first, firstHealthy := x.bareRollout("bare-1", n)

	begin := time.Now()
	c := x.child(truce)
	x.await(kustomizations, "bench", n, ready)
	r.truce = time.Since(begin)
	r.self, r.helpers = c.memory("VmHWM")
	r.cpu = c.stop()
	if got := x.count(deployments, "shop") + x.count(services, "shop") + x.count(ingresses, "shop") + x.count(serviceAccounts, "shop"); got < 4*n {
		b.Fatalf("all apps are ready, but there are %d of %d objects", got, 4*n)
	}

	second, secondHealthy := x.bareRollout("bare-2", n)
	r.bare, r.bareHealthy = (first+second)/2, (firstHealthy+secondHealthy)/2
	return r
}

// bareRollout applies the same objects to another namespace, and returns when they were answered, and when they were healthy.
func (x *box) bareRollout(ns string, n int) (answered, healthy time.Duration) {
	x.apply(documents(x.b, fill(namespace, ns, "")))
	var objects []*unstructured.Unstructured
	for i := range n {
		objects = append(objects, documents(x.b, fill(podinfo, ns, fmt.Sprintf("app-%05d", i)))...)
	}
	begin := time.Now()
	answered = x.apply(objects)
	x.await(deployments, ns, n, func(o *unstructured.Unstructured) bool {
		seen, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		return seen == o.GetGeneration()
	})
	return answered, time.Since(begin)
}

func (r rollout) report(b *testing.B) {
	b.ReportMetric(0, "ns/op") // includes the making of the world
	b.ReportMetric(ratio(r.truce, r.bare), "ratio")
	b.ReportMetric(ratio(r.truce, r.bareHealthy), "ratio-healthy")
	b.ReportMetric(r.truce.Seconds(), "truce-s")
	b.ReportMetric(r.bare.Seconds(), "bare-s")
	b.ReportMetric(r.cpu.Seconds(), "cpu-s")
	b.ReportMetric(r.self, "peak-MiB")
	b.ReportMetric(r.helpers, "helpers-MiB")
}
