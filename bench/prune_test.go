package bench

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkPrune measures a commit that takes one object out of each of many apps of a repository: until every object is gone and every app
// names the new revision, with truce's requests and the CPU time of the process, which holds truce and the benchmark's own client.
func BenchmarkPrune(b *testing.B) {
	for _, n := range sizes(b, 100) {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			x := startBox(b)
			x.apply(documents(b, fill(namespace, "shop", "")))
			whole := small(podinfo, "shop", n)
			repo := x.prepare(whole, n)
			in := x.inside()
			in.run(x)
			at := func(head string) {
				x.await(kustomizations, "bench", n, func(o *unstructured.Unstructured) bool {
					revision, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
					return ready(o) && strings.HasSuffix(revision, head)
				})
				in.quiet(x)
			}
			at(repo.Head())
			less := small(strings.Replace(podinfo, serviceAccount, "", 1), "shop", n)
			var took, cpu durations
			var requests float64
			for b.Loop() {
				in.requests.take()
				before := processCPU()
				head := repo.Commit(less, "prune")
				begin := time.Now()
				x.await(kustomizations, "bench", n, func(o *unstructured.Unstructured) bool {
					revision, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
					return ready(o) && strings.HasSuffix(revision, head)
				})
				took = append(took, time.Since(begin))
				cpu = append(cpu, processCPU()-before)
				in.quiet(x)
				requests = float64(total(in.requests.take()))
				if left := x.count(serviceAccounts, "shop"); left > 1 { // that of the namespace stays
					b.Fatalf("%d ServiceAccounts are left", left)
				}
				at(repo.Commit(whole, "back"))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(milliseconds(took.quantile(0.5))/float64(n), "ms/app")
			b.ReportMetric(milliseconds(cpu.quantile(0.5))/float64(n), "cpu-ms/app")
			b.ReportMetric(requests/float64(n), "requests/app")
		})
	}
}

// processCPU is the CPU time that this process has taken.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
