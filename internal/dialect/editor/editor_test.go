package editor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
)

func TestAChangeEndsWithTheFirstThingThatCannotBeDone(t *testing.T) {
	e := Editor{CR: object.Object{"spec": map[string]any{"path": "a", "list": []any{1}, "gone": "x"}}}
	empty, b := "", "b"
	e.SetText(nil, "spec", "path")
	e.SetText(&b, "spec", "new", "text")
	e.SetText(&empty, "spec", "gone")
	if e.Err != nil {
		t.Fatal(e.Err)
	}
	e.Put(true, "spec", "list", "deep")
	e.Refuse("later")
	if e.Err == nil || e.Err.Error() != "spec.list.deep holds a value of another form" {
		t.Errorf("got %v", e.Err)
	}
	want := object.Object{"spec": map[string]any{"path": "a", "list": []any{1}, "new": map[string]any{"text": "b"}}}
	if diff := cmp.Diff(want, e.CR); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAListIsShownWithItsPlaces(t *testing.T) {
	if got := FormatEntries(nil); got != "there are none" {
		t.Error(got)
	}
	if got := FormatEntries([]any{map[string]any{"b": 1, "a": "x"}, "y"}); got != `there are 0: {"a":"x","b":1}, 1: "y"` {
		t.Error(got)
	}
}
