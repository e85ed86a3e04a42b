package discover_test

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/lint/discover"
)

// TestSeveralThatDescribeEachOtherInEverNewFormsEnd: each form of one leads to another form of each, which are many long before one has many in a row.
func TestSeveralThatDescribeEachOtherInEverNewFormsEnd(t *testing.T) {
	files := map[string]string{}
	for i := range 2 {
		files[fmt.Sprintf("apps/%d.yaml", i)] = fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"+
			"metadata: {name: \"app-%[1]d${N}\", namespace: flux-system}\nspec:\n  interval: 10m\n  prune: true\n  path: ./apps\n"+
			"  sourceRef: {kind: GitRepository, name: fleet}\n  postBuild:\n    substitute: {N: \"${N}%[1]d\"}\n", i)
	}
	s := take(t, files, discover.Options{Kinds: kinds(), Workers: 2})
	broken := 0
	for _, k := range s.Skipped {
		if k.Broken {
			broken++
		}
	}
	if broken != 2 {
		t.Errorf("%d are broken, not 2: %v", broken, s.Skipped)
	}
}
