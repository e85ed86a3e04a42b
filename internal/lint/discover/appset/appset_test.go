package appset_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/lint/discover/appset"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

func setOf(text string) (object.Object, error) {
	var o map[string]any
	err := yaml.Unmarshal([]byte(text), &o)
	return o, err
}

// here are the addresses that the stories give this repository.
type here struct{}

func (here) IsHere(address string) bool { return address == "here" }

// TestTheStoriesOfSetsAreToldByTheirApplications expands the set in "set.yaml" of each story, among the story's other files.
func TestTheStoriesOfSetsAreToldByTheirApplications(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, in golden.Files) string {
		set, err := setOf(in["set.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		files := fstest.MapFS{}
		for name, text := range in {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		all, err := appset.Sets{}.Expand(set, files, here{})
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		for _, a := range all {
			delete(a.Object, "apiVersion")
			delete(a.Object, "kind")
			data, err := json.Marshal(a.Object)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "%s\n", data)
		}
		return b.String()
	})
}

// TestTemplatesAreFilledAsArgoCDDoes fills one text with given parameters.
func TestTemplatesAreFilledAsArgoCDDoes(t *testing.T) {
	list := func(text string) string {
		return `{generators: [{list: {elements: [{a: x, b: 'y z'}]}}], template: {metadata: {name: '` + text + `'}}}`
	}
	tmpl := func(text string) string {
		return `{goTemplate: true, generators: [{list: {elements: [{a: x, num: 1000000, l: [q, p], m: {k: v, c: d}, name: Web_Shop.v1}]}}], template: {metadata: {name: '` + text + `'}}}`
	}
	strict := func(text string) string { return "{goTemplateOptions: [missingkey=error], " + tmpl(text)[1:] }
	for _, c := range []struct{ set, want string }{
		{list(`{{a}}-{{ b }}-{{d}}-{{}}`), `"name":"x-y z-{{d}}-{{}}"`},
		{list(`{{a}} {{a`), `{{ without }}`},
		{list(`{{a`), `"name":"{{a"`},
		{tmpl(`{{.a}}-{{ .m.k }}-{{.d}}`), `"name":"x-v-\u003cno value\u003e"`},
		{tmpl(`{{.num}}`), `"name":"1e+06"`},
		{strict(`{{.d}}`), `map has no entry for key`},
		{tmpl(`{{`), `its template "{{"`},
		{tmpl(`{{ .a | upper }} {{ .l | join "," }} {{ keys .m | join "" }} {{ .m | toJson }} {{ default "z" .d }}`), `"name":"X q,p ck {\"c\":\"d\",\"k\":\"v\"} z"`},
		{tmpl(`{{ .name | normalize }} {{ .name | slugify }} {{ slugify 6 .name }} {{ slugify 6 false .name }}`), `"name":"web-shop.v1 web-shop-v1 web web-sh"`},
		{tmpl(`{{ range $i, $e := .l }}{{ $i }}{{ $e }} {{ end }}{{ (fromYaml "a: {b: c}").a.b }}{{ toYaml .m }}`), `"name":"0q 1p cc: d\nk: v"`},
		{tmpl(`{{ add 20000 1 }}`), `"name":"20001"`},
		{tmpl(`{{ set .m "k" "w" }}{{ .m.k }}`), `"name":"map[c:d k:w]w"`},
		{tmpl(`{{ env "HOME" }}`), `function "env" not defined`},
		{tmpl(`{{ getHostByName "a" }}`), `function "getHostByName" not defined`},
		{tmpl(`{{ now }}`), `now answers differently`},
		{tmpl(`{{ randAlpha 3 }}`), `randAlpha answers differently`},
		{tmpl(`{{ genCA "a" 3 }}`), `genCA answers differently`},
		{tmpl(`{{ dateInZone "2006" .a "UTC" }}`), `dateInZone answers differently`},
		{tmpl(`{{ if false }}{{ now }}{{ end }}x`), `"name":"x"`},
		{tmpl(`{{ fail "no" }}`), `no`},
		{tmpl(`{{ mod 1 0 }}`), `divide by zero`},
		{tmpl(`{{ slugify 5 "a-bcd-e" }}`), `"name":"a-bcd"`},
		{`{goTemplate: true, generators: [{list: {elements: [{m: {k: v}}]}}], template: {spec: ['{{ $x := set .m "k" "w" }}', '{{ .m.k }}']}}`, `"spec":["","v"]`},
		{`{goTemplate: true, generators: [{matrix: {generators: [{list: {elements: [{a: x}]}}, {list: {elements: [{a: z}]}}]}}], template: {metadata: {name: '{{ .a }}'}}}`, `"name":"x"`},
		{`{generators: [{git: {repoURL: here, files: [{path: '[!b].yaml'}]}}], template: {metadata: {name: '{{a}}'}}}`, `"name":"b"`},
		{`{templatePatch: x}`, `give no Application`},
		{`{generators: [{list: {elements: [1]}}]}`, `an element of its list`},
		{`{generators: [{list: {elements: [{a: 1}]}}]}`, `a is no text`},
		{`{generators: [{clusters: {}}]}`, `its generator clusters asks Argo CD which clusters it knows`},
		{`{generators: [{matrix: {generators: [{list: {}}, {scmProvider: {}}]}}]}`, `its generator scmProvider asks the host`},
		{`{generators: [{odd: {}}]}`, `its generator odd is not known`},
		{`{generators: [{list: {elements: [{}, {}]}}], template: {metadata: {name: a}}}`, `two of its Applications are called "a"`},
		{`{}`, `give no Application`},
	} {
		if got := expanded(t, c.set); !strings.Contains(got, c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.set, got, c.want)
		}
	}
}

func expanded(t *testing.T, spec string) string {
	t.Helper()
	set, err := setOf("{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: s, namespace: argocd}, spec: " + spec + "}")
	if err != nil {
		t.Fatal(spec, err)
	}
	all, err := appset.Sets{}.Expand(set, fstest.MapFS{"a.yaml": {Data: []byte("a: b")}}, here{})
	if err != nil {
		return err.Error()
	}
	data, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestATemplateEndsSoonWhateverItSays: what would take all memory, or all time, is refused.
func TestATemplateEndsSoonWhateverItSays(t *testing.T) {
	const long, steps = "makes more than is followed", "too many steps"
	for text, want := range map[string]string{
		`{{ range 1000000000 }}{{ end }}`:                                            steps,
		`{{- define "a" }}{{ template "a" }}{{ end }}`:                               "are not followed",
		`{{ template "a" }}`:                                                         "are not followed",
		`{{ range 9999 }}{{ range 9999 }}{{ end }}{{ end }}`:                         steps,
		`{{ repeat 1000000000 "x" }}`:                                                long,
		`{{ repeat 1000000000000000 "x" }}`:                                          long,
		`{{ until 1000000000 }}`:                                                     long,
		`{{ seq 1 1000000000 }}`:                                                     long,
		`{{ indent 1000000000 "x" }}`:                                                long,
		`{{ printf "%1000000000d" 1 }}`:                                              long,
		`{{ printf "%*d" 1000000000 1 }}`:                                            long,
		`{{ $a := "x" }}{{ range until 60 }}{{ $a = printf "%s%s" $a $a }}{{ end }}`: long,
		`{{ $a := repeat 9999 "x" }}{{ $a = replace "x" $a $a }}{{ $a = replace "x" $a $a }}`:   long,
		`{{ $l := list 1 }}{{ range until 60 }}{{ $l = list $l $l }}{{ end }}{{ $l }}`:          long,
		`{{ $d := dict }}{{ $e := set $d "self" $d }}{{ $d }}`:                                  long,
		`{{ range until 9999 }}{{ repeat 9999 "x" }}{{ end }}`:                                  long,
		`{{ $a := "x" }}{{ range until 60 }}{{ $a = html (print $a "<" $a) }}{{ end }}{{ $a }}`: long,
	} {
		got := expanded(t, `{goTemplate: true, generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: '`+text+`'}}}`)
		if !strings.Contains(got, want) {
			t.Errorf("%s:\n got %.300s\nwant %s", text, got, want)
		}
	}
}

func TestASetIsNotLargerThanIsFollowed(t *testing.T) {
	elements := strings.Repeat("{a: x},", 80)
	const want = "describes more than 5000 Applications"
	for _, generators := range []string{
		`[{matrix: {generators: [{list: {elements: [` + elements + `]}}, {list: {elements: [` + elements + `]}}]}}]`,
		`[{list: {elementsYaml: '[` + strings.Repeat("{},", 5001) + `]'}}]`,
	} {
		if got := expanded(t, "{generators: "+generators+"}"); !strings.Contains(got, want) {
			t.Errorf("got %.300s, want %s", got, want)
		}
	}
	if got := expanded(t, `{generators: [{list: {elementsYaml: "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e]"}}]}`); !strings.Contains(got, "excessive aliasing") {
		t.Errorf("a bomb: %.300s", got)
	}
}

func FuzzExpand(f *testing.F) {
	f.Add(`{generators: [{list: {elements: [{a: x}]}}], template: {metadata: {name: '{{a}}'}}}`, "a: b")
	f.Add(`{goTemplate: true, generators: [{git: {repoURL: here, directories: [{path: '*'}], values: {a: '{{.path.path}}'}}}], template: {metadata: {name: '{{.values.a | upper}}'}}}`, "")
	f.Add(`{generators: [{matrix: {generators: [{git: {repoURL: here, files: [{path: '**/[!b].yaml'}]}}, {list: {elements: [{b: '{{a}}'}]}}]}, selector: {matchLabels: {a: b}}}]}`, "a: b")
	f.Add(`{goTemplate: true, generators: [{merge: {mergeKeys: [a], generators: [{git: {repoURL: here, files: [{path: x}]}}, {list: {elements: [{a: b}]}}]}}], templatePatch: "spec: {a: {{.a}}}"}`, "[{a: b}]")
	f.Fuzz(func(t *testing.T, spec, content string) {
		set, err := setOf("{metadata: {name: s}, spec: " + spec + "}")
		if err != nil {
			return
		}
		all, err := appset.Sets{}.Expand(set, fstest.MapFS{"x/a.yaml": {Data: []byte(content)}}, here{})
		if err == nil && len(all) == 0 {
			t.Error("neither Applications nor a reason")
		}
	})
}
