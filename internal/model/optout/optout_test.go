package optout

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
)

// tools are opt-outs of two tools, one that reads whole values in any case and one that reads lists, and one of an app's own resource.
var tools = Rules{
	{Key: "a/reconcile", Value: "disabled", Match: Word, Effect: NeverApply},
	{Key: "a/ssa", Value: "Override", Match: Word},
	{Key: "a/ssa", Value: "Merge", Match: Word, Effect: MergeOnly},
	{Key: "a/ssa", Value: "IfNotPresent", Match: Word, Effect: CreateOnly},
	{Key: "a/ssa", Value: "Ignore", Match: Word, Effect: NeverApply},
	{Key: "b/options", Value: "Replace=true", Match: Item, Effect: Recreate},
	{Key: "b/options", Value: "Replace", Match: Item},
	{Key: "b/options", Value: "Validate=false", Match: Item, Effect: Remark, Why: "has no effect"},
	{Key: "spec.left[0]", Match: Selected, Effect: KeepDrift, Objects: ofName("web")},
}

type ofName string

func (n ofName) Matches(git object.Object) bool { return git.Name() == string(n) }

func named(name string, annotations map[string]any) object.Object {
	return object.Object{"metadata": map[string]any{"name": name, "annotations": annotations}}
}

func marked(labels, annotations map[string]any) object.Object {
	return object.Object{"metadata": map[string]any{"labels": labels, "annotations": annotations}}
}

func TestWhatAnObjectAsksFor(t *testing.T) {
	type m = map[string]any
	for name, c := range map[string]struct {
		git, live object.Object
		want      Treatment
	}{
		"nothing":                    {git: marked(nil, nil), live: marked(nil, nil)},
		"an object without metadata": {git: object.Object{}},
		"an annotation in any case":  {git: marked(nil, m{"a/reconcile": "Disabled"}), want: Treatment{Effect: NeverApply, Mark: "annotation a/reconcile: Disabled"}},
		"a label":                    {git: marked(m{"a/ssa": "ignore"}, nil), want: Treatment{Effect: NeverApply, Mark: "label a/ssa: ignore"}},
		"create only":                {git: marked(nil, m{"a/ssa": "IfNotPresent"}), want: Treatment{Effect: CreateOnly, Mark: "annotation a/ssa: IfNotPresent"}},
		"merge":                      {git: marked(nil, m{"a/ssa": "merge"}), want: Treatment{Effect: MergeOnly, Mark: "annotation a/ssa: merge"}},
		"the default":                {git: marked(nil, m{"a/ssa": "override"})},
		"never goes over once": {
			git:  marked(nil, m{"a/reconcile": "disabled", "a/ssa": "IfNotPresent"}),
			want: Treatment{Effect: NeverApply, Mark: "annotation a/reconcile: disabled"},
		},
		"an unknown value": {
			git:  marked(nil, m{"a/ssa": "Sometimes"}),
			want: Treatment{Remarks: []string{"annotation a/ssa: Sometimes has no effect: no such value"}},
		},
		"an empty value": {git: marked(m{"a/ssa": ""}, m{"a/reconcile": ""})},
		"a pause on the live object": {
			git: marked(nil, nil), live: marked(nil, m{"a/reconcile": "disabled"}),
			want: Treatment{Effect: NeverApply, Mark: "annotation a/reconcile: disabled", Paused: "a/reconcile"},
		},
		"a pause on the live object, where Git asks to merge": {
			git: marked(nil, m{"a/ssa": "Merge"}), live: marked(m{"a/reconcile": "disabled"}, nil),
			want: Treatment{Effect: NeverApply, Mark: "label a/reconcile: disabled", Paused: "a/reconcile"},
		},
		"in Git and on the live object it is no pause": {
			git: marked(nil, m{"a/ssa": "Ignore"}), live: marked(nil, m{"a/reconcile": "disabled"}),
			want: Treatment{Effect: NeverApply, Mark: "annotation a/ssa: Ignore"},
		},
		"create only on the live object alone means nothing": {git: marked(nil, nil), live: marked(nil, m{"a/ssa": "IfNotPresent"})},
		"a list": {
			git: marked(nil, m{"b/options": " Replace=true,Validate=false ,Replace=false,, Other=1"}),
			want: Treatment{
				Recreate: "annotation b/options: Replace=true",
				Remarks:  []string{"annotation b/options: Validate=false has no effect", "annotation b/options: Other=1 has no effect: no such value"},
			},
		},
		"a list in another case":                   {git: marked(nil, m{"b/options": "replace=true"}), want: Treatment{Remarks: []string{"annotation b/options: replace=true has no effect: no such value"}}},
		"an object that the app selects":           {git: named("web", nil), want: Treatment{Effect: KeepDrift, Mark: "spec.left[0]"}},
		"selected, and only to be created":         {git: named("web", m{"a/ssa": "IfNotPresent"}), want: Treatment{Effect: CreateOnly, Mark: "annotation a/ssa: IfNotPresent"}},
		"selected, and to be merged":               {git: named("web", m{"a/ssa": "Merge"}), want: Treatment{Effect: KeepDrift, Mark: "spec.left[0]"}},
		"an object that the app does not select":   {git: named("webs", nil)},
		"selected, and the object asks for never":  {git: named("web", m{"a/ssa": "Ignore"}), want: Treatment{Effect: NeverApply, Mark: "annotation a/ssa: Ignore"}},
		"selected, and paused on the live object":  {git: named("web", nil), live: marked(nil, m{"a/ssa": "Ignore"}), want: Treatment{Effect: NeverApply, Mark: "annotation a/ssa: Ignore", Paused: "a/ssa"}},
		"an annotation with the name of the field": {git: marked(nil, m{"spec.left[0]": "x"})},
		"a list in a label is none":                {git: marked(m{"b/options": "Replace=true"}, nil)},
	} {
		if diff := cmp.Diff(c.want, tools.Of(c.git, c.live)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// FuzzTreatment holds for any annotations: a pause is on the live object alone, what is recreated is in Git, and a mark is one of the object's.
func FuzzTreatment(f *testing.F) {
	f.Add("disabled", "Ignore", "Replace=true,Validate=false", "merge")
	f.Add("", "ifnotpresent", " , =, Replace", "DISABLED")
	f.Fuzz(func(t *testing.T, reconcile, ssa, options, live string) {
		git := marked(map[string]any{"a/reconcile": reconcile}, map[string]any{"a/ssa": ssa, "b/options": options})
		there := marked(nil, map[string]any{"a/reconcile": live, "a/ssa": live, "b/options": live})
		alone, both := tools.Of(git, nil), tools.Of(git, there)
		if alone.Paused != "" || alone.Recreate != both.Recreate || !slices.Equal(alone.Remarks, both.Remarks) {
			t.Errorf("the live object changes what Git asks for: %+v, %+v", alone, both)
		}
		if both.Paused != "" && (alone.Effect == NeverApply || both.Effect != NeverApply) {
			t.Errorf("paused: %+v, in Git: %+v", both, alone)
		}
		if (both.Effect == "") != (both.Mark == "") || both.Mark != "" && !strings.Contains(both.Mark, ": ") {
			t.Errorf("effect %q by mark %q", both.Effect, both.Mark)
		}
	})
}
