package bench

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/render"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BenchmarkCommit measures a commit that changes an image in one of many apps of a repository: from the moved branch until an
// independent watch sees the new image, and until all apps name the new revision.
func BenchmarkCommit(b *testing.B) {
	for _, n := range sizes(b, 100) {
		b.Run(fmt.Sprintf("apps=%d", n), func(b *testing.B) {
			x := startBox(b)
			x.apply(documents(b, fill(namespace, "shop", "")))
			repo := x.prepare(small(podinfo, "shop", n), n)
			in := x.inside()
			counted := &counting{Renderer: in.Engine.Render}
			in.Engine.Render = counted
			in.run(x)
			x.await(kustomizations, "bench", n, ready)
			seen := x.watch(deployments, "shop")
			in.quiet(x)
			turn := 0
			b.Run("image", func(b *testing.B) {
				var applied, told durations
				var renders, requests float64
				for b.Loop() {
					turn++
					counted.n.Store(0)
					in.requests.take()
					image := fmt.Sprintf("podinfo:7.0.%d", turn)
					text := strings.Replace(fill(podinfo, "shop", "app-00007"), "podinfo:6.9.0", image, 1)
					head := repo.Commit(map[string]string{"app-00007/app.yaml": text}, "image")
					begin := time.Now()
					for s := range seen {
						if hasImage(s.object, image) {
							applied = append(applied, s.at.Sub(begin))
							break
						}
					}
					x.await(kustomizations, "bench", n, func(o *unstructured.Unstructured) bool {
						revision, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
						return ready(o) && strings.HasSuffix(revision, head)
					})
					told = append(told, time.Since(begin))
					in.quiet(x)
					renders, requests = float64(counted.n.Load()), float64(total(in.requests.take()))
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(milliseconds(applied.quantile(0.5)), "applied-ms")
				b.ReportMetric(milliseconds(told.quantile(0.5)), "all-told-ms")
				b.ReportMetric(renders, "renders")
				b.ReportMetric(requests/float64(n), "requests/app")
			})
		})
	}
}

func hasImage(o *unstructured.Unstructured, image string) bool {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	main, _ := list[0].(map[string]any)
	text, _ := main["image"].(string)
	return strings.HasSuffix(text, image)
}

// counting counts the renders that were done, not those that the cache answers.
type counting struct {
	render.Renderer
	n atomic.Int64
}

func (c *counting) Render(ctx context.Context, q render.Request) (render.Result, error) {
	r, err := c.Renderer.Render(ctx, q)
	if r.Rendered {
		c.n.Add(1)
	}
	return r, err
}
