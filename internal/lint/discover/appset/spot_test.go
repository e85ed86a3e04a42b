package appset_test

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/discover/appset"
)

// TestASetTellsWhereItsParametersAreWritten: those of a merge that win come first.
func TestASetTellsWhereItsParametersAreWritten(t *testing.T) {
	set, err := setOf(`
metadata: {name: s, namespace: argocd}
spec:
  generators:
  - merge:
      mergeKeys: [env]
      generators:
      - git: {repoURL: here, files: [{path: '*.yaml'}], values: {a: b}}
      - list: {elements: [{env: gone}, {env: prod, count: '3'}]}
  - matrix:
      generators:
      - git: {repoURL: here, directories: [{path: '*'}], values: {a: b}}
      - list: {elementsYaml: '[{env: second}]'}
  template: {metadata: {name: '{{env}}'}}
`)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"envs.yaml": {Data: []byte("- env: test\n- env: prod\n")}, "apps/a.txt": {}}
	all, err := appset.Sets{}.Expand(set, files, here{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]discover.Spot{}
	for _, m := range all {
		got[m.Object.Name()] = m.Parameters
	}
	const merge, matrix = "spec.generators[0].merge.generators", "spec.generators[1].matrix.generators"
	values := discover.Spot{Name: "values", At: merge + "[0].git.values"}
	want := map[string][]discover.Spot{
		"test":   {values, {File: "envs.yaml", At: "[0]"}},
		"prod":   {{At: merge + "[1].list.elements[1]"}, values, {File: "envs.yaml", At: "[1]"}},
		"second": {{Name: "values", At: matrix + "[0].git.values"}, {At: matrix + "[1].list.elementsYaml[0]"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
