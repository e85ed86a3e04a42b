package overlay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const digest = "sha256:24a0c4b4a4c0eb97a1aabb8e29f18e917d05abfe1b7a7c07857230879ce7d3d3"

func TestImagesAreReadAsKustomizeEditTakesThem(t *testing.T) {
	before := map[string]any{"name": "web", "newName": "old", "newTag": "1", "digest": digest}
	for text, want := range map[string]string{
		"web:2":                       "name:web newTag:2",
		"web@" + digest:               "digest:" + digest + " name:web",
		"web=new":                     "name:web newName:new",
		"web=new:2":                   "name:web newName:new newTag:2",
		"web=new:2@" + digest:         "digest:" + digest + " name:web newName:new newTag:2",
		"web=localhost:5000/new":      "name:web newName:localhost:5000/new",
		"web=localhost:5000/new:2":    "name:web newName:localhost:5000/new newTag:2",
		"web=*:2":                     "name:web newName:old newTag:2",
		"web=new:*":                   "name:web newName:new newTag:1",
		"web=*:*@*":                   "digest:" + digest + " name:web newName:old newTag:1",
		"localhost:5000/web:2":        "name:localhost:5000/web newTag:2",
		"":                            "error names no image",
		"web":                         "error want NAME:TAG, NAME@DIGEST or NAME=NEWNAME[:TAG][@DIGEST]",
		"localhost:5000/web":          "error want NAME:TAG, NAME@DIGEST or NAME=NEWNAME[:TAG][@DIGEST]",
		"=web:2":                      "error names no image",
		"web=":                        "error names no image",
		"*=new":                       "error names no image",
		"web:2 ":                      "error holds white space",
		"web:-":                       `error "-" is no tag`,
		"web@latest":                  `error "latest" is no digest`,
		"web=new:2@sha256:0123456789": `error "sha256:0123456789" is no digest`,
	} {
		m, err := ParseImage(text)
		got := fmt.Sprint("error ", err)
		if err == nil {
			entry := map[string]any{"name": m.Name}
			if m.Name == "web" {
				entry = before
			}
			got = strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(m.Over(entry)), "map["), "]")
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	if len(before) != 4 || before["newTag"] != "1" {
		t.Errorf("the kustomization's entry was changed: %v", before)
	}
}

func TestReplicasAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"web=3": "{web 3} <nil>", "web=0": "{web 0} <nil>", "web": `{web 0} "" is no number of replicas`, "=3": "{ 0} want NAME=COUNT",
		"web=-1": `{web 0} "-1" is no number of replicas`, "web=3.5": `{web 0} "3.5" is no number of replicas`, "web=99999999999": `{web 0} "99999999999" is no number of replicas`,
	} {
		r, err := ParseReplica(text)
		if err != nil {
			r.Count = 0
		}
		if got := fmt.Sprint(r, " ", err); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestFaultsNameTheirField(t *testing.T) {
	o := Overlay{
		Within: "spec", NamePrefix: "a/", NameSuffix: "-ok",
		Components: []string{"", "/abs", "../parts/[", "../ok"},
		Patches: []map[string]any{
			{"patch": "a: 1", "path": "b"}, {}, {"patch": "- {op: add, path: /a}"}, {"patch": "text", "target": map[string]any{}},
			{"patch": "- {op: put, path: /a}", "target": map[string]any{}}, {"patch": "- {op: add, path: a}", "target": map[string]any{}},
			{"patch": "- 1", "target": map[string]any{}}, {"patch": "a: [\n"}, {"patch": "# nothing"}, {"patch": "a: 1\n---\nb: 2\n"}, {"path": "ok.yaml"},
			{"patch": "password: hunter2: x"},
		},
		Images: []Image{{}}, Replicas: []Replica{{}},
		Labels:      Labels{Pairs: map[string]string{"a b": "x", "ok": "not ok"}, Selectors: true, Templates: true},
		Annotations: Annotations{Pairs: map[string]string{"": "x", "app.example/ok": "any text"}},
		Metadata:    Metadata{Labels: map[string]string{"x": "-"}, Annotations: map[string]string{"é": ""}},
	}
	var got []string
	for _, f := range o.Faults() {
		reason, _, _ := strings.Cut(f.Reason, ": a ")
		reason, _, _ = strings.Cut(reason, ": name part")
		got = append(got, f.Field+" "+reason)
	}
	want := []string{
		`spec.namePrefix "a/" cannot be a part of a name`,
		"spec.components[0] names no directory",
		`spec.components[1] "/abs" begins with a slash; want a path relative to the app's`,
		`spec.components[2] "../parts/[" is no pattern: syntax error in pattern`,
		"spec.patches[0] has both patch and path; want one of them",
		"spec.patches[1] names no patch",
		"spec.patches[2].patch JSON patch operations need a target: which objects are they about?",
		"spec.patches[3].patch want an object to merge, or a list of JSON patch operations",
		`spec.patches[4].patch operation 0: op "put": want add, remove, replace, move, copy, test`,
		"spec.patches[5].patch operation 0: path: want a JSON pointer, which begins with a slash",
		"spec.patches[6].patch operation 0: is no JSON patch operation",
		"spec.patches[7].patch line 1: did not find expected node content",
		"spec.patches[8].patch is empty",
		"spec.patches[11].patch mapping values are not allowed in this context",
		"spec.images[0].name required",
		"spec.replicas[0].name required: the name of a workload",
		"spec.labelIncludeTemplates labels that go into selectors go into templates, too; want it with labelWithoutSelector only",
		"spec.commonLabels[a b] is no key of a label or annotation",
		`spec.commonLabels[ok] "not ok" is no value of a label`,
		"spec.commonAnnotations[] is no key of a label or annotation",
		`spec.commonMetadata.labels[x] "-" is no value of a label`,
		"spec.commonMetadata.annotations[é] is no key of a label or annotation",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNothingIsWrongWithNothing(t *testing.T) {
	if o := (Overlay{}); o.Builds() || len(o.Faults())+len(o.Parts("")) > 0 {
		t.Errorf("the zero value asks for something: %v %v", o.Faults(), o.Parts(""))
	}
	if o := (Overlay{Metadata: Metadata{Labels: map[string]string{"a": "b"}}}); o.Builds() {
		t.Error("metadata alone needs no build")
	}
}
