package plain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/render"
)

// streams are files as kubectl and the API server print them, and as people write them.
var streams = map[string]string{
	"kubectl get -o yaml": "apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    text: |\n      - a\n      items:\n      - b\n  kind: ConfigMap\n  metadata:\n    name: a\n# note\n\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: b}\nkind: List\nmetadata:\n  resourceVersion: \"\"\n",
	"indented":            "kind: List\napiVersion: v1\nitems:\n  - apiVersion: v1\n    kind: ConfigMap\n    metadata:\n      name: a\n  -\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: b}\n",
	"documents":           "# top\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n--- # next\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n...\n",
	"typed YAML":          "apiVersion: apps/v1\nitems:\n- metadata: {name: a}\n- metadata: {name: b}\nkind: DeploymentList\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: c}\n",
	"empty list":          "apiVersion: v1\nitems: []\nkind: List\n",
	"typed JSON":          `{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":{},"items":[{"metadata":{"name":"a"}},` + "\n" + `{"metadata":{"name":"b"}}]}`,
	"kind behind":         "{\n \"apiVersion\": \"v1\",\n \"items\": [\n  {\"metadata\": {\"name\": \"a\"}},\n  {\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"b\"}}\n ],\n \"kind\": \"PodList\"\n}\n",
	"JSON values":         "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}\n\n{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\n\t\"metadata\":{\"name\":\"b\\/\\ud83d\\ude00\"}} {\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"c\"}}\n",
	"not an object":       "- a\n",
	"broken":              "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: [}\nkind: List\n",
	"no name":             "apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n- apiVersion: v1\n  kind: ConfigMap\nkind: List\n",
}

func collect(read func(each) error) ([]string, error) {
	var got []string
	e := each{name: "a.yaml", use: func(o render.Object) error {
		got = append(got, fmt.Sprintf("%s %s", o.Data.GVK(), o.Data.ID()))
		return nil
	}}
	return got, read(e)
}

func inPieces(text string) func(each) error {
	return func(e each) error {
		if beginsJSON([]byte(text)) {
			return e.json(strings.NewReader(text))
		}
		return e.yaml(bufio.NewReaderSize(strings.NewReader(text), 16))
	}
}

// A stream that is taken apart gives what the file gives that is read at once.
func TestAStreamIsReadAsAFileIs(t *testing.T) {
	for what, text := range streams {
		t.Run(what, func(t *testing.T) {
			want, wantErr := collect(func(e each) error { return e.piece([]byte(text), 0, nil) })
			got, err := collect(inPieces(text))
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("error %v, want %v", err, wantErr)
			}
			slices.Sort(got) // items that wait for the type of their list come last
			slices.Sort(want)
			if wantErr == nil {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestErrorsInAStreamNameTheirLine(t *testing.T) {
	for what, want := range map[string]string{
		"broken":  "a.yaml:7: did not find expected node content",
		"no name": "a.yaml:6: not a Kubernetes object: no metadata.name",
	} {
		if _, err := collect(inPieces(streams[what])); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}
}

// endless repeats an item of a list, as often as is read.
type endless struct {
	rest []byte
	item string
	left int
}

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		if e.left--; e.left < 0 {
			return 0, io.EOF
		}
		e.rest = []byte(e.item)
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestAStreamMayBeLongAndAnObjectMayNot(t *testing.T) {
	text := strings.Repeat("x", 1<<20)
	list := &endless{rest: []byte("apiVersion: v1\nitems:\n"), item: "- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data: {a: " + text + "}\n", left: 40}
	n := 0
	if err := EachObject("a.yaml", list, func(render.Object) error { n++; return nil }); err != nil || n != 40 {
		t.Errorf("%d objects, %v", n, err)
	}
	one := &endless{rest: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: |\n"), item: "    " + text + "\n", left: 20}
	if err := EachObject("a.yaml", one, func(render.Object) error { return nil }); !errors.Is(err, render.ErrLimit) {
		t.Error(err)
	}
	item := &endless{rest: []byte(`{"items":[{"a":"`), item: text, left: 20}
	if err := EachObject("a.json", io.MultiReader(item, strings.NewReader(`"}]}`)), func(render.Object) error { return nil }); !errors.Is(err, render.ErrLimit) {
		t.Error(err)
	}
}

// Whatever the bytes are, taking a stream apart ends, and gives no object that the whole file has not.
func FuzzEach(f *testing.F) {
	for _, text := range streams {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := collect(inPieces(string(data)))
		want, wantErr := collect(func(e each) error { return e.piece(bytes.Clone(data), 0, nil) })
		if err != nil || wantErr != nil {
			return
		}
		slices.Sort(got) // items that wait for the type of their list come last
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-at once +in pieces\n%s", diff)
		}
	})
}
