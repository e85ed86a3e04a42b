package claim_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/claim"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/testing/given"
	"sigs.k8s.io/yaml"
)

// pathsOf returns what one path of an entry means on an object.
func pathsOf(t *testing.T, path string, live object.Object) []string {
	t.Helper()
	c, err := claim.Builtin().With("p", []byte("claims: [{id: p, who: w, evidence: [{label: '*'}], on: [Thing.example.org], paths: ['"+path+"'], do: cede, text: t}]"))
	if err != nil {
		t.Fatal(err)
	}
	owners, err := ownership.Entries(live)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, c := range c.On(claim.Subject{Live: live, Owners: owners}, nil) {
		out = append(out, field.PathString(c.Path))
	}
	return out
}

const thing = `
apiVersion: example.org/v1
kind: Thing
metadata:
  name: x
  labels: {a: b}
  annotations: {example.com/one: "1", example.com/two: "2", other.io/x: "3"}
  managedFields:
  - manager: truce
    operation: Apply
    fieldsV1: {"f:spec": {"f:hooks": {"k:{\"name\":\"one\"}": {".": {}, "f:url": {}}, "k:{\"name\":\"two\"}": {".": {}, "f:url": {}}}, "f:loose": {}}}
spec:
  hooks:
  - {name: one, url: u}
  - {name: two, url: u, ca: x}
  loose: [{weight: 1}, {weight: 2}]
`

func TestAPathNamesFieldsOfAnObject(t *testing.T) {
	for path, want := range map[string]string{
		"spec.replicas":                           ".spec.replicas",
		`spec.hooks[*].ca`:                        ".spec.hooks[name=one].ca .spec.hooks[name=two].ca",
		`spec.hooks[name=two].ca`:                 ".spec.hooks[name=two].ca",
		`spec.hooks[name=t*].ca`:                  ".spec.hooks[name=two].ca",
		`spec.hooks[name=x].ca`:                   "",
		`spec.loose[*].weight`:                    ".spec.loose[0].weight .spec.loose[1].weight",
		`metadata.annotations["example.com/*"]`:   `.metadata.annotations["example.com/one"] .metadata.annotations["example.com/two"]`,
		`metadata.annotations["example.com/one"]`: `.metadata.annotations["example.com/one"]`,
		`metadata["*"]["*/x"]`:                    `.metadata.annotations["other.io/x"]`,
		`nothing[*].x`:                            "",
	} {
		if got := strings.Join(pathsOf(t, path, given.Object(t, thing)), " "); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"spec.replicas", `a["b/*"][*].c[name=x*]`, "[", "a[", `a["`, "a..b", ".", "*", `a["*"]`} {
		f.Add(s)
	}
	o := object.Object{"spec": map[string]any{"a": []any{map[string]any{"name": "x"}, "y", nil}, "b": map[string]any{"c": int64(1)}}, "apiVersion": "v1", "kind": "K"}
	f.Fuzz(func(t *testing.T, s string) {
		var p claim.Path
		if yaml.Unmarshal([]byte("x"), &struct{}{}) != nil || p.UnmarshalYAML(scalar(s)) != nil {
			return
		}
		if p.String() != s {
			t.Errorf("%q is printed as %q", s, p)
		}
		var again claim.Path
		if err := again.UnmarshalYAML(scalar(p.String())); err != nil {
			t.Error(err)
		}
		claim.PathIn(p, o)
	})
}

func TestGlob(t *testing.T) {
	for _, x := range []struct{ pattern, in, out string }{
		{"*", "| a b/c", ""}, {"a*", "a ab a/b", "ba"}, {"*a", "a ba", "ab"}, {"a*c*e", "ace abcde acce", "acd ae"}, {"a", "a", "b aa"}, {"a*a", "aa aba", "a"},
	} {
		for s := range strings.FieldsSeq(x.in) {
			if !claim.Glob(x.pattern, s) {
				t.Errorf("%s does not match %s", x.pattern, s)
			}
		}
		for s := range strings.FieldsSeq(x.out) {
			if claim.Glob(x.pattern, s) {
				t.Errorf("%s matches %s", x.pattern, s)
			}
		}
	}
	if slices.Contains([]bool{claim.Glob("", "")}, false) {
		t.Error("the empty pattern matches the empty text")
	}
}
