package render_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
)

const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

func TestValuesAreWhatTheAPIMachineryHas(t *testing.T) {
	objects, err := render.Manifests("a.yaml", []byte(strings.Replace(head, "v1", "example.com/v1", 1)+`
int: 3
hex: 0x10
big: 9223372036854775807
huge: 18446744073709551615
float: 1.5
whole: 2.0
yes: yes
bool: true
none: ~
date: 2020-01-01
octal: "010"
text: |
  a
merged: {<<: {a: 1, b: 1}, b: 2}
1: one
`))
	if err != nil {
		t.Fatal(err)
	}
	want := object.Object{
		"apiVersion": "example.com/v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"},
		"int": int64(3), "hex": int64(16), "big": int64(9223372036854775807), "huge": float64(18446744073709551615),
		"float": 1.5, "whole": int64(2), "yes": "yes", "bool": true, "none": nil, "date": "2020-01-01T00:00:00Z", "octal": "010", "text": "a\n",
		"merged": map[string]any{"a": int64(1), "b": int64(2)}, "1": "one",
	}
	if diff := cmp.Diff(want, objects[0].Data); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentsHaveTheirLines(t *testing.T) {
	objects, err := render.Manifests("a.yaml", []byte("---\n# only a comment\n---\n"+head+"---\n\n---\nnull\n---\n{}\n---\n# text\n"+head+
		"---\napiVersion: v1\nkind: ConfigMapList\nitems:\n- "+strings.ReplaceAll(head, "\n", "\n  ")+"\n- "+strings.ReplaceAll(head, "\n", "\n  ")+
		"\n---\napiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: l}\n---\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range objects {
		got = append(got, fmt.Sprintf("%s %d", o.Data.ID(), o.Line))
	}
	if diff := cmp.Diff([]string{"ConfigMap a 4", "ConfigMap a 15", "ConfigMap a 22", "ConfigMap a 26", "AllowList.x.io l 31"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestJSONIsReadAsItIs(t *testing.T) {
	objects, err := render.Manifests("a.json", []byte("{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": {\"name\": \"a\\u0041\\/\\ud83d\\ude00\\\\/\"}\n}\n"))
	if err != nil || len(objects) != 1 || objects[0].Data.Name() != "aA/😀\\/" {
		t.Error(objects, err)
	}
}

func TestErrorsNameFileAndLine(t *testing.T) {
	for what, c := range map[string]struct {
		data, want string
		limit      bool
	}{
		"no kind":           {data: "# x\napiVersion: v1\nmetadata: {name: a}\n", want: "a.yaml:2: not a Kubernetes object: no kind"},
		"nothing":           {data: "a: b\n", want: "a.yaml:1: not a Kubernetes object: no apiVersion, no kind, no metadata.name"},
		"text":              {data: "just text\n", want: "a.yaml:1: not a Kubernetes object: no map"},
		"binary":            {data: "a\x00b", want: "a.yaml: not text: it has NUL bytes (save it as UTF-8, or as UTF-16 with a byte order mark)"},
		"YAML 2":            {data: "%YAML 2.0\n---\n" + head, want: "a.yaml: found incompatible YAML document"},
		"a large number":    {data: head[:0] + "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  paused: false\n  replicas: 1e20\n", want: "a.yaml:6: Deployment.apps a: spec.replicas: the number does not fit an integer of 64 bits"},
		"second JSON value": {data: "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n{\"kind\":\"Pod\"}", want: "a.yaml:2: not a Kubernetes object: no apiVersion, no metadata.name"},
		"in a list":         {data: "kind: List\nitems:\n- kind: A\n", want: "a.yaml:3: not a Kubernetes object: no apiVersion, no metadata.name"},
		"twice":             {data: head + "kind: B\n", want: `a.yaml:4: key "kind" is already set at line 2`},
		"1 and \"1\"":       {data: head + "1: a\n\"1\": b\n", want: `a.yaml:5: key "1" is already set at line 4`},
		"syntax":            {data: head + "a: [\n", want: "a.yaml:4: did not find expected node content"},
		"map key":           {data: head + "{a: b}: c\n", want: "a.yaml:4: a key must be a scalar"},
		"infinity":          {data: head + "a: .inf\n", want: "a.yaml:4: .inf is no JSON number"},
		"unknown alias":     {data: head + "a: *b\n", want: "a.yaml: unknown anchor '***' referenced"},
		"self":              {data: head + "a: &a [*a]\n", want: "a.yaml:4: nested deeper than 1000: limit exceeded", limit: true},
		"merge bomb":        {data: head + "a: &a {k: [" + strings.Repeat("x,", 1000) + "]}\nb: {<<: [" + strings.Repeat("*a,", 1000) + "]}\n", want: "a.yaml:4: aliases make more than 100000 values: limit exceeded", limit: true},
		"bad merge":         {data: head + "a: {<<: 1}\n", want: "a.yaml:4: a merge key needs a map or a list of maps"},
		"deep":              {data: head + "a: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000), want: "a.yaml:4: nested deeper than 1000: limit exceeded", limit: true},
		"deeper":            {data: head + "a: " + strings.Repeat("[", 100_000), want: "a.yaml:4: exceeded max depth of 10000"},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := render.Manifests("a.yaml", []byte(c.data))
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if errors.Is(err, render.ErrLimit) != c.limit {
				t.Error("is a limit:", !c.limit)
			}
		})
	}
}

func utf16Of(order binary.AppendByteOrder, text string) []byte {
	out := order.AppendUint16(nil, 0xFEFF)
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, u)
	}
	return out
}

// What kubectl reads is read: several JSON values in a file, %YAML directives, UTF-16, and lists that say the type of their items.
func TestFormsThatKubectlReads(t *testing.T) {
	typedList := "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: a}\n- &b {metadata: {name: b}}\n"
	for what, c := range map[string]struct {
		data []byte
		want []string
	}{
		"JSON values":   {[]byte("{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n{\"apiVersion\":\"v1\",\n\t\"kind\":\"Pod\",\"metadata\":{\"name\":\"b\"}}{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"c\"}}"), []string{"Pod a 1", "Pod b 2", "Pod c 3"}},
		"directive":     {[]byte("%YAML 1.2\n---\n" + head), []string{"ConfigMap a 3"}},
		"two":           {[]byte("%YAML 1.1\n---\n" + head + "...\n%YAML 1.2\n---\n" + head), []string{"ConfigMap a 3", "ConfigMap a 9"}},
		"little endian": {utf16Of(binary.LittleEndian, "# é 😀\n"+head), []string{"ConfigMap a 2"}},
		"big endian":    {utf16Of(binary.BigEndian, head), []string{"ConfigMap a 1"}},
		"typed":         {[]byte(typedList), []string{"Deployment.apps a 4", "Deployment.apps b 5"}},
		"generated":     {[]byte("apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: a-}\n"), []string{"Job.batch a-* 1"}},
	} {
		t.Run(what, func(t *testing.T) {
			objects, err := render.Manifests("a.yaml", c.data)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objects {
				got = append(got, fmt.Sprintf("%s %d", o.Data.ShownID(), o.Line))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever the bytes are, decoding ends, and what it gives is JSON and complete.
func FuzzManifests(f *testing.F) {
	for _, s := range []string{head, head + "---\n" + head, "kind: List\nitems: [{}]", "a: &a [*a]", "{\"apiVersion\":\"v1\"}", "<<: {a: b}", "? [a]\n: b", "!!binary aGk=", "%YAML 1.2\n---\n" + head, "{\"a\":1}{\"b\":2}", "kind: PodList\napiVersion: v1\nitems: [{metadata: {name: a}}]", string(utf16Of(binary.LittleEndian, head)), "a: 0x_1", "- .nan"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, file := range []string{"a.yaml", "a.json"} {
			objects, err := render.Manifests(file, data)
			if err != nil {
				var at *render.Error
				if !errors.As(err, &at) || at.File != file {
					t.Errorf("an error without a place: %v", err)
				}
				continue
			}
			for _, o := range objects {
				if o.Data.ShownID().Name == "" || o.Data.APIVersion() == "" || o.Line < 1 {
					t.Errorf("incomplete: %v", o)
				}
				if _, err := json.Marshal(o.Data); err != nil {
					t.Error(err)
				}
			}
		}
	})
}
