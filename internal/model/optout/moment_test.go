package optout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
)

func TestAHookIsMadeAtAMoment(t *testing.T) {
	all := Moments{
		{Annotation: "a/hook", Names: map[string]string{"Skip": ""}, Weights: []string{"a/wave", "h/weight"}},
		{
			Annotation: "h/hook", Except: "crd", Closed: true, Names: map[string]string{"before": "First", "prior": "First", "after": "Last"},
			Weights: []string{"a/wave", "h/weight"}, Deleted: "h/delete", Deletions: map[string]string{"good": "when-good", "bad": "when-bad"},
		},
	}
	for _, c := range []struct {
		annotations map[string]any
		at          Timing
		bears       bool
	}{
		{map[string]any{"other": "x"}, Timing{}, false},
		{map[string]any{"a/hook": "PreSync"}, Timing{Moments: []string{"PreSync"}}, true},
		{map[string]any{"a/hook": "PreSync, PostSync,PreSync"}, Timing{Moments: []string{"PreSync", "PostSync"}}, true},
		{map[string]any{"a/hook": ""}, Timing{}, true},
		{map[string]any{"a/hook": "Skip"}, Timing{Skipped: true}, true},
		{map[string]any{"a/hook": "PreSync", "h/hook": "after"}, Timing{Moments: []string{"PreSync"}}, true},
		{map[string]any{"h/hook": "test, after"}, Timing{Moments: []string{"Last"}}, true},
		{map[string]any{"h/hook": "before,prior"}, Timing{Moments: []string{"First"}}, true},
		{map[string]any{"h/hook": "test"}, Timing{}, true},
		{map[string]any{"h/hook": "crd"}, Timing{}, false}, // is kept in sync
		{map[string]any{"h/hook": "crd,before"}, Timing{Moments: []string{"First"}}, true},
		{map[string]any{"h/hook": "before", "h/weight": "-5", "h/delete": "good, bad,never"}, Timing{Moments: []string{"First"}, Weight: -5, Deleted: []string{"when-good", "when-bad"}}, true},
		{map[string]any{"h/hook": "before", "h/weight": "-5", "a/wave": "3"}, Timing{Moments: []string{"First"}, Weight: 3}, true},
		{map[string]any{"h/hook": "before", "h/weight": "-5", "a/wave": "none"}, Timing{Moments: []string{"First"}, Weight: -5}, true},
	} {
		at, bears := all.Of(object.Object{"metadata": map[string]any{"annotations": c.annotations}})
		if diff := cmp.Diff(c.at, at); diff != "" || bears != c.bears {
			t.Errorf("%v: %t, want %t, and (-want +got):\n%s", c.annotations, bears, c.bears, diff)
		}
	}
}
