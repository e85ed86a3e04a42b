package overlay

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func TestTheRevisionIsPutInWhereItIsAskedFor(t *testing.T) {
	m, err := ParseImage("web=*:v-" + Revision(7))
	if err != nil {
		t.Fatal(err)
	}
	pairs := map[string]string{"whole": Revision(0), "twice": Revision(8) + "." + Revision(7), "other": "x"}
	asked := Overlay{Images: []Image{m}, Labels: Labels{Pairs: pairs}, Annotations: Annotations{Pairs: pairs}}
	got := asked.At(commit)
	want := map[string]string{"whole": commit, "twice": "01234567.0123456", "other": "x"}
	if diff := cmp.Diff(want, got.Labels.Pairs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, got.Annotations.Pairs); diff != "" {
		t.Error(diff)
	}
	if text := got.Images[0].String(); text != "web=*:v-0123456@" && text != "web=*:v-0123456" {
		t.Errorf("the image is %s", text)
	}
	if asked.Labels.Pairs["whole"] != Revision(0) || *asked.Images[0].NewTag != "v-"+Revision(7) {
		t.Error("what was asked for was changed")
	}
	if text := asked.At("abc").Labels.Pairs["twice"]; text != "abc.abc" {
		t.Errorf("of a short revision: %s", text)
	}
}

func TestPatternsOfComponentsAreWhatTheyMatch(t *testing.T) {
	files := fstest.MapFS{
		"apps/web/kustomization.yaml": {}, "parts/b/kustomization.yaml": {}, "parts/a/kustomization.yaml": {}, "parts/[x]/kustomization.yaml": {},
	}
	o := Overlay{Components: []string{"../../parts/?", "../../parts/gone", "../../parts/*z", "../../parts/[x]", "./c*"}}
	want := []string{"../../parts/a", "../../parts/b", "../../parts/gone", "../../parts/*z", "../../parts/[x]", "./c*"}
	if diff := cmp.Diff(want, o.Found(files, "apps/web").Components); diff != "" {
		t.Error(diff)
	}
}
