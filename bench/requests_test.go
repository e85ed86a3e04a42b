package bench

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// BenchmarkRequests counts what truce asks of the API server for the first rollout of an app of four objects, by kind of request.
func BenchmarkRequests(b *testing.B) {
	for _, n := range sizes(b, 100) {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			var count map[string]int
			for b.Loop() {
				x := startBox(b)
				x.apply(documents(b, fill(namespace, "shop", "")))
				x.prepare(small(podinfo, "shop", n), n)
				in := x.inside()
				in.run(x)
				x.await(kustomizations, "bench", n, ready)
				count = in.requests.take()
				in.stop()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(total(count))/float64(n), "all/app")
			for what, c := range count {
				if c*10 > n { // the others are made once for all apps
					b.ReportMetric(float64(c)/float64(n), what+"/app")
				}
			}
		})
	}
}

// BenchmarkReleaseRequests counts the same for the install of a HelmRelease with four objects.
func BenchmarkReleaseRequests(b *testing.B) {
	for _, n := range sizes(b, 100) {
		b.Run(fmt.Sprintf("releases=%d", n), func(b *testing.B) {
			var count map[string]int
			for b.Loop() {
				x := startBox(b)
				x.apply(documents(b, fill(namespace, "shop", "")+"\n---\n"+fill(namespace, "bench", "")))
				repo := gittest.New(b, chartFiles("1.0.0", "hello"))
				x.apply(documents(b, helmResources(repo.Dir, n)))
				in := x.inside()
				in.run(x)
				x.await(helmReleases, "bench", n, isOfVersion("1.0.0"))
				count = in.requests.take()
				in.stop()
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(total(count))/float64(n), "all/release")
			for what, c := range count {
				if c*10 > n {
					b.ReportMetric(float64(c)/float64(n), what+"/release")
				}
			}
		})
	}
}
