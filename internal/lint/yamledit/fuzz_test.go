package yamledit_test

import (
	"bytes"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/truce-gitops/truce/internal/lint/yamledit"
)

func FuzzApply(f *testing.F) {
	for _, s := range []string{"spec:\n  replicas: 3\n  a: b\n", "{\"spec\": {\"replicas\": 1}}", "a: &x [1]\nspec: {replicas: *x}\n---\nb: |+\n  c\n\n", "spec:\r\n- ? a\r\n  : b\r\n",
		"\uFEFFspec: !!map\n  replicas: \"a\n\n b\"\n", "spec:\n- - replicas\n  - {a, b: }\n", "spec: >2-\n   x\n# c", "spec: {<<: {replicas: 2}}", "spec: [replicas: 1, b]"} {
		f.Add([]byte(s), byte(0))
		f.Add([]byte(s), byte(9))
	}
	dos := []yamledit.Action{yamledit.Remove, yamledit.Set, yamledit.Add, yamledit.Append, yamledit.Remove}
	paths := []yamledit.Path{yamledit.KeyPath("spec", "replicas"), yamledit.KeyPath("spec"), {yamledit.ItemStep(0), yamledit.ItemStep(0)}, {yamledit.KeyStep("spec"), yamledit.ItemStep(0)}, nil}
	f.Fuzz(func(t *testing.T, data []byte, how byte) {
		e := yamledit.Edit{Action: dos[int(how)%5], Path: paths[int(how)/5%5], Value: "a\nb", WhenEmpty: yamledit.RemoveEmpty, Document: int(how) / 125}
		if how%2 == 0 {
			e.WhenEmpty = yamledit.KeepEmpty
		}
		for _, name := range []string{"a.yaml", "a.json"} {
			out, err := yamledit.ApplyEdits(name, data, e)
			if err != nil {
				continue
			}
			var n yaml.Node
			if err := yaml.Unmarshal(out, &n); err != nil && name == "a.yaml" {
				t.Errorf("%q became %q: %v", data, out, err)
			}
			if bytes.HasPrefix(data, []byte("\uFEFF")) && !bytes.HasPrefix(out, []byte("\uFEFF")) {
				t.Errorf("the mark of %q is lost", data)
			}
		}
	})
}
