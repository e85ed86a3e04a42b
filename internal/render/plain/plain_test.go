package plain_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func object(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
}

func render1(t *testing.T, r render.Request) []string {
	t.Helper()
	res, err := plain.Renderer{}.Render(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return places(res)
}

func places(r render.Result) []string {
	var all []string
	for _, o := range r.Objects {
		all = append(all, fmt.Sprintf("%s %s:%d", o.Data.ID(), o.File, o.Line))
	}
	return all
}

var sample = given.Files(
	"apps/b.yml", "# text\n---\n"+object("b1")+"---\n# nothing\n---\n"+object("b2"),
	"apps/a/z.yaml", object("z"),
	"apps/a-b/y.yaml", "apiVersion: v1\nkind: List\nitems:\n- "+`{apiVersion: v1, kind: ConfigMap, metadata: {name: y1}, data: {a: yes, b: "010", c: ~}}`+"\n- {apiVersion: v1, kind: Secret, metadata: {name: y2}, n: 0x10, f: 1.50, e: 1e3, big: 1234567890123456789}\n",
	"apps/a/local.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: local, annotations: {config.kubernetes.io/local-config: \"true\"}}\n",
	"apps/a/anchor.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: anchor}\ndata: {a: &x {k: v}, b: *x, c: {<<: *x, d: e}}\n",
	"apps/.hidden/h.yaml", object("hidden"),
	"apps/c.json", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`,
	"apps/README.md", "text",
	"other/o.yaml", object("o"),
)

func TestFluxReadsYAMLAtAnyDepth(t *testing.T) {
	want := []string{
		"ConfigMap hidden apps/.hidden/h.yaml:1", "ConfigMap anchor apps/a/anchor.yaml:1", "ConfigMap z apps/a/z.yaml:1",
		"ConfigMap y1 apps/a-b/y.yaml:4", "Secret y2 apps/a-b/y.yaml:5", "ConfigMap b1 apps/b.yml:3", "ConfigMap b2 apps/b.yml:9",
	}
	if diff := cmp.Diff(want, render1(t, render.Request{Files: sample, Path: "apps"})); diff != "" {
		t.Error(diff)
	}
}

func TestPlainAndKustomizeGiveTheSame(t *testing.T) {
	ours, err := plain.Renderer{}.Render(t.Context(), render.Request{Files: sample, Path: "apps"})
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := (&kustomize.Renderer{}).Render(t.Context(), render.Request{Files: sample, Path: "apps"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("(-kustomize +plain):\n%s", diff)
	}
}

func TestArgoReadsWhatTheDirectoryAsksFor(t *testing.T) {
	for what, c := range map[string]struct {
		directory render.Directory
		want      []string
	}{
		"one level":     {render.Directory{}, []string{"ConfigMap b1 apps/b.yml:3", "ConfigMap b2 apps/b.yml:9", "ConfigMap c apps/c.json:1"}},
		"include":       {render.Directory{Recurse: true, Include: "{a/*,*.json}", Exclude: "*/[a]*"}, []string{"ConfigMap local apps/a/local.yaml:1", "ConfigMap z apps/a/z.yaml:1", "ConfigMap c apps/c.json:1"}},
		"nothing there": {render.Directory{Include: "x*"}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			if diff := cmp.Diff(c.want, render1(t, render.Request{Files: sample, Path: "apps", Directory: &c.directory})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestABrokenManifestIsNotTakenForAnotherFile: the objects of a file that is left out would be pruned.
func TestABrokenManifestIsNotTakenForAnotherFile(t *testing.T) {
	for text, leftOut := range map[string]bool{
		"{{ a template, and no manifest\n":                                          true,
		"replicas: [\n":                                                             true,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n":                     false,
		`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}`:             false,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: \"b}\n":   false,
		"\xff\xfea\x00p\x00i\x00V\x00e\x00r\x00s\x00i\x00o\x00n\x00:\x00 \x00v\x00": false,
	} {
		_, err := plain.Renderer{}.Render(t.Context(), render.Request{Files: given.Files("apps/a.yaml", text), Path: "apps", Directory: &render.Directory{}})
		if (err == nil) != leftOut {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestAFileThatNamesNoTypeIsNoManifest, whatever words are deeper in it: values of charts, dashboards, configuration of tools.
func TestAFileThatNamesNoTypeIsNoManifest(t *testing.T) {
	for text, leftOut := range map[string]bool{
		"image: {tag: a}\nextraObjects:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n": true,
		"# kind: of values\nreplicas: 2\n":                                      true,
		"[{name: the kind, apiVersionOf: x}, {name: b}]":                        true,
		"apiVersion v1\nkind ConfigMap\n":                                       false,
		"some text\n":                                                           true,
		"a: 1\na: kind\n":                                                       true,
		"- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}":              false,
		"kind: ConfigMap\nmetadata: {name: a}\n":                                false,
		"apiVersion: v1\nmetadata: {name: a}\n":                                 false,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {nam: a}\n":                 false,
		"a: 1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n":     false,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\na: 1\n":     false,
		"x: &x {apiVersion: v1, kind: ConfigMap}\n<<: *x\nmetadata: {nam: a}\n": false,
	} {
		files := given.Files("apps/a.yaml", text)
		_, err := plain.Renderer{}.Render(t.Context(), render.Request{Files: files, Path: "apps", Directory: &render.Directory{}})
		if (err == nil) != leftOut {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := (plain.Renderer{}).Render(t.Context(), render.Request{Files: files, Path: "apps"}); err == nil {
			t.Errorf("%q: Kustomize, and so Flux, reads each file as a manifest", text)
		}
	}
}

// TestMarkedFilesAreLeftOut of an Argo CD directory, whatever is in them, and one whose name ends in capitals. Flux knows no such mark.
func TestMarkedFilesAreLeftOut(t *testing.T) {
	const mark = "# +argocd:skip-file-rendering\n"
	utf16 := "\xff\xfe"
	for _, c := range object("e") + mark {
		utf16 += string([]byte{byte(c), 0})
	}
	files := given.Files("a.yaml", object("a"), "f.YAML", object("f"), "b.yaml", mark+object("b"), "c.jsonnet", "//"+mark+"{a: 1}", "d.yaml", "apiVersion: [\n"+mark, "e.yaml", utf16)
	if diff := cmp.Diff([]string{"ConfigMap a a.yaml:1"}, render1(t, render.Request{Files: files, Path: ".", Directory: &render.Directory{}})); diff != "" {
		t.Error(diff)
	}
	files = given.Files("a.yaml", object("a"), "b.yaml", mark+object("b"))
	if diff := cmp.Diff([]string{"ConfigMap a a.yaml:1", "ConfigMap b b.yaml:2"}, render1(t, render.Request{Files: files, Path: "."})); diff != "" {
		t.Error(diff)
	}
}

func TestWhatPlainCannotReadIsSaid(t *testing.T) {
	for want, r := range map[string]render.Request{
		"render .: b.yaml:2: ConfigMap a is already at a.yaml:1":   {Files: given.Files("a.yaml", object("a"), "b.yaml", "\n"+object("a")), Path: "."},
		"render .: plain manifests take no namespace and no edits": {Files: given.Files("a.yaml", object("a")), Path: ".", Namespace: "x"},
		"render .: sub has a kustomization file":                   {Files: given.Files("sub/kustomization.yml", "", "a.yaml", object("a")), Path: "."},
		"render nope: open nope: file does not exist":              {Files: given.Files("a.txt", ""), Path: "nope"},
		"render .: a.jsonnet: jsonnet is not supported":            {Files: given.Files("a.jsonnet", ""), Path: ".", Directory: &render.Directory{}},
		"render .: include: pattern {a is not closed":              {Files: given.Files(), Path: ".", Directory: &render.Directory{Include: "{a"}},
		"render .: a.yaml: more than 1 objects: limit exceeded":    {Files: given.Files("a.yaml", object("a")+"---\n"+object("b")), Path: ".", Limits: render.Limits{Objects: 1}},
		"render .: a.yaml: 51 bytes, more than 5: limit exceeded":  {Files: given.Files("a.yaml", object("a")), Path: ".", Limits: render.Limits{FileBytes: 5}},
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := (plain.Renderer{}).Render(t.Context(), r); err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
	}
}
