package reader

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
)

type inner struct {
	Count int64    `json:"count"`
	Names []string `json:"names"`
}

type outer struct {
	First  inner  `json:"first"`
	Second string `json:"second"`
	Third  bool   `json:"third"`
}

func TestOneBadValueHidesNoOther(t *testing.T) {
	var r Reader
	var got outer
	r.Fields("spec", map[string]any{
		"first": map[string]any{"count": "many", "names": []any{"a"}}, "second": "b", "third": 3, "fourth": 1, "fifth": nil,
	}, &got)
	r.Problem("spec.first.count.unit", "is part of what is wrong already")
	r.Fields("status", "text", &got)
	if got.Second != "b" {
		t.Errorf("a field of the right type is lost: %+v", got)
	}
	var said []string
	for _, p := range r.Problems {
		said = append(said, p.Field+": "+p.Reason)
	}
	want := []string{"spec.first.count: want a number, not a string", "spec.third: want true or false, not a number", "status: want an object with fields"}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"spec.fourth has no effect: no such field"}, r.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	for field, want := range map[string]bool{"spec.first": true, "spec.first.count": true, "spec.fir": false, "spec.second": false, "spec": true} {
		if r.HasProblemWithin(field) != want {
			t.Errorf("within %s: %v", field, !want)
		}
	}
}

func TestWordsAndStrangeAnnotations(t *testing.T) {
	cr := object.Object{"metadata": map[string]any{"annotations": map[string]any{"x/mode": "enforce", "x/claims": "never", "x/other": "y", "y/z": "1"}}}
	var r Reader
	type mode string
	if got := ReadEnum[mode](&r, cr, "x/mode", "enforce", "observe"); got != "enforce" {
		t.Errorf("got %q", got)
	}
	if got := ReadEnum[mode](&r, cr, "x/claims", "cede", "off"); got != "" || len(r.Problems) != 1 || r.Problems[0].Reason != `want one of cede, off, not "never"` {
		t.Errorf("got %q, %v", got, r.Problems)
	}
	r.UnknownAnnotations(cr, "x/", " here", []string{"x/mode", "x/claims"})
	if diff := cmp.Diff([]string{"annotation x/other has no effect here"}, r.Notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An address is refused or not; in no case is it printed, and nothing panics.
func FuzzAddress(f *testing.F) {
	for _, text := range []string{"https://u:hunter2@git.example/a", "git@git.example:a", "ftp://x", "/srv/git", "file:///a", "://", "https://", "a\x00", "ssh://git@[::1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var r Reader
		secret := r.Address("spec.url", text)
		if secret && !strings.Contains(text, "@") {
			t.Errorf("%q holds no credentials", text)
		}
		for _, p := range r.Problems {
			if len(text) > 12 && strings.Contains(p.Reason, text) {
				t.Errorf("%q is told: %s", text, p.Reason)
			}
		}
	})
}
