package desired_test

import (
	"testing"
	"testing/fstest"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// Whatever stands in the files, looking for an origin ends, and names only files that are there.
func FuzzOrigin(f *testing.F) {
	manifest := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n"
	f.Add("resources: [a.yaml]\npatches: [{path: p.yaml}]\n", manifest, manifest)
	f.Add("resources: [a.yaml, .]\ncomponents: [.]\n", "kind: List\nitems: &a\n- items: *a\n", "- {op: add, path: /data/k, value: v}")
	f.Add("namespace: x\nnamePrefix: y\nimages: [{}]\nreplicas: [1]\nlabels: [a]\n", "a", "b")
	f.Add("configMapGenerator:\n- name: a\n  literals: [k=v]\n  files: [k=p.yaml]\n", manifest, "v")
	f.Fuzz(func(t *testing.T, kustomization, manifest, patch string) {
		files := fstest.MapFS{
			"kustomization.yaml": {Data: []byte(kustomization)}, "a.yaml": {Data: []byte(manifest)}, "p.yaml": {Data: []byte(patch)},
		}
		data := object.Object{"kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": "v"}}
		for _, file := range []string{"a.yaml", "kustomization.yaml"} {
			o := desired.Object{ID: data.ID(), Data: data, File: file, Line: 1}
			for _, p := range []field.Path{field.NewPath("data", "k"), field.NewPath("metadata", "name"), field.NewPath("data")} {
				at := desired.FieldOrigin(files, app.App{Path: "."}, o, p)
				if at.Means != "" && files[at.File] == nil {
					t.Errorf("%s is not there", at.File)
				}
			}
		}
	})
}
