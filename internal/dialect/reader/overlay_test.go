package reader

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/overlay"
)

func TestProblemsOfAnOverlayNameTheirField(t *testing.T) {
	o := overlay.Overlay{
		Within: "spec", NamePrefix: "a/", NameSuffix: "-ok",
		Components: []string{"", "/abs", "../parts/[", "../ok"},
		Patches: []map[string]any{
			{"patch": "a: 1", "path": "b"}, {}, {"patch": "- {op: add, path: /a}"}, {"patch": "text", "target": map[string]any{}},
			{"patch": "- {op: put, path: /a}", "target": map[string]any{}}, {"patch": "- {op: add, path: a}", "target": map[string]any{}},
			{"patch": "- 1", "target": map[string]any{}}, {"patch": "a: [\n"}, {"patch": "# nothing"}, {"patch": "a: 1\n---\nb: 2\n"}, {"path": "ok.yaml"},
			{"patch": "password: hunter2: x"}, {"patch": "---\na: 1\n---\n"}, {"patch": "- {op: add, path: /a}\n---", "target": map[string]any{}}, {"patch": "---\n---\n"},
		},
		Images: []overlay.Image{{}}, Replicas: []overlay.Replica{{}},
		Labels:      overlay.Labels{Pairs: map[string]string{"a b": "x", "ok": "not ok"}, Selectors: true, Templates: true},
		Annotations: overlay.Annotations{Pairs: map[string]string{"": "x", "app.example/ok": "any text"}},
		Metadata:    overlay.Metadata{Labels: map[string]string{"x": "-"}, Annotations: map[string]string{"é": ""}},
	}
	var got []string
	var r Reader
	r.CheckOverlay(o)
	for _, f := range r.Problems {
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
		"spec.patches[14].patch is empty",
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

func TestNothingIsWrongWithTheZeroOverlay(t *testing.T) {
	var r Reader
	if r.CheckOverlay(overlay.Overlay{}); len(r.Problems) > 0 {
		t.Errorf("the zero value has problems: %v", r.Problems)
	}
}

// Whatever a patch holds, looking for faults ends.
func FuzzCheckOverlay(f *testing.F) {
	for _, text := range []string{"- {op: add, path: /a}", "a: &a [*a]", "---\n---\n", "? [a]", "- &x\n- *x", "\x00", "!!binary x"} {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		o := overlay.Overlay{Patches: []map[string]any{{"patch": text, "target": map[string]any{}}, {"patch": text}}, Components: []string{text}}
		(&Reader{}).CheckOverlay(o)
	})
}
