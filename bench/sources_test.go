package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/testing/gittest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// sourceEach are the custom resources of n apps, each with a GitRepository of its own.
func sourceEach(b *testing.B, text string, n int) string {
	b.Helper()
	var all []string
	for i := range n {
		name := fmt.Sprintf("app-%05d", i)
		repo := gittest.New(b, map[string]string{"app.yaml": fill(text, "shop", name)})
		all = append(all, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: %[1]s, namespace: bench}
spec: {url: "file://%[2]s", interval: 1h, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: bench}
spec: {path: ./, prune: true, wait: true, interval: 1h, timeout: 30m, sourceRef: {kind: GitRepository, name: %[1]s}}
`, name, repo.Dir))
	}
	return strings.Join(all, "---")
}

// BenchmarkPoll measures a poll of a source that finds nothing new: the requests to the source's server, their bytes in both directions, and
// the requests to the API server. A poll is asked for by the annotation of Flux.
func BenchmarkPoll(b *testing.B) {
	files := small(podinfo, "shop", 100)
	b.Run("git", func(b *testing.B) {
		server := gittest.ServeHTTP(b, gittest.New(b, files), gittest.HTTPOptions{})
		text := fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: polled, namespace: bench}
spec: {url: %q, interval: 1h, ref: {branch: main}}
`, server.URL)
		poll(b, text, func() (int, int64) { return server.Requests(), server.Bytes() })
	})
	b.Run("oci", func(b *testing.B) {
		registry := ocitest.New(b)
		registry.Push("fleet", "latest", files, nil)
		text := fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: polled, namespace: bench}
spec: {url: %q, interval: 1h, insecure: true, ref: {tag: latest}}
`, registry.URL("fleet"))
		sent := 0
		poll(b, text, func() (int, int64) {
			sent += len(registry.Requests())
			return sent, 0 // the registry does not count bytes
		})
	})
}

// polls is how many polls one measurement has.
const polls = 20

func poll(b *testing.B, text string, used func() (requests int, bytes int64)) {
	x := startBox(b)
	x.apply(documents(b, fill(namespace, "bench", "")))
	source := documents(b, text)
	x.apply(source)
	in := x.inside()
	in.run(x)
	kind := resources[source[0].GetKind()]
	x.await(kind, "bench", 1, ready)
	in.quiet(x)
	in.requests.take()
	requests, bytes := used()
	asked := 0
	var took durations
	for b.Loop() {
		for range polls {
			asked++
			token := fmt.Sprintf("poll-%d", asked)
			body := fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, token)
			begin := time.Now()
			_, err := x.dynamic.Resource(kind).Namespace("bench").Patch(x.ctx, "polled", types.MergePatchType, []byte(body), metav1.PatchOptions{FieldManager: "bench"})
			must(b, err)
			x.await(kind, "bench", 1, func(o *unstructured.Unstructured) bool {
				handled, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
				return handled == token
			})
			took = append(took, time.Since(begin))
		}
	}
	in.quiet(x)
	after, sum := used()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(after-requests)/float64(asked), "requests/poll")
	if sum > 0 {
		b.ReportMetric(float64(sum-bytes)/float64(asked), "B/poll")
	}
	b.ReportMetric(float64(in.requests.sum())/float64(asked), "api-requests/poll")
	b.ReportMetric(milliseconds(took.quantile(0.5)), "ms/poll")
}
