package ignore_test

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/ignore"
)

func BenchmarkCovers(b *testing.B) {
	s := sight(b)
	s.Answers = map[string]ignore.Answer{".spec.replicas": {Git: pointers(b, "/spec/replicas"), Live: pointers(b, "/spec/replicas")}}
	deployments, err := ignore.GlobPattern("Deployment")
	if err != nil {
		b.Fatal(err)
	}
	all := ignore.Rules{
		{Name: "0", Target: ignore.Target{Kind: deployments}, Pointers: pointers(b, "/spec/replicas")},
		{Name: "1", Target: ignore.Target{Kind: deployments}, Pointers: pointers(b, "/spec/template/spec/containers/0/image")},
		{Name: "2", Target: ignore.Target{Name: ignore.ExactPattern("other")}, Pointers: pointers(b, "/spec/replicas")},
		{Name: "3", Managers: []string{"kube-controller-manager"}},
		{Name: "4", Queries: []string{".spec.replicas"}},
	}
	for _, n := range []int{0, 1, 5} {
		b.Run(fmt.Sprintf("%d rules", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				all[:n].Covers(s)
			}
		})
	}
}
