package compare_test

import (
	"encoding/json"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/given"
)

func paths(list []compare.Difference) []string {
	out := []string{}
	for _, d := range list {
		out = append(out, string(d.Kind)+" "+field.PathString(d.Path))
	}
	return out
}

func TestOneFieldDiffersAndIsFoundByItsKey(t *testing.T) {
	for name, c := range map[string]struct {
		pair func(testing.TB) (git, live object.Object)
		want []string
	}{
		"Deployment": {deployment, []string{"changed .spec.replicas"}},
		"CRD":        {crd, []string{"changed .spec.names.shortNames"}},
		"ConfigMap":  {configMap, []string{"changed .data.b"}},
	} {
		git, live := c.pair(t)
		if got := diff(t, git, live); cmp.Diff(c.want, paths(got)) != "" {
			t.Errorf("%s: got %v", name, paths(got))
		}
		if got := diff(t, git, git.Clone()); len(got) > 0 {
			t.Errorf("%s differs from itself: %v", name, paths(got))
		}
	}
}

// A field whose absence means something else than its zero value is missing when it is absent; all others the server leaves out.
func TestZeroIsAbsentUnlessAbsenceSaysSomethingElse(t *testing.T) {
	git := given.Object(t, `
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {hostNetwork: false, hostPID: false, automountServiceAccountToken: false, securityContext: {runAsUser: 0}, schedulerName: ""}`)
	live := given.Object(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {securityContext: {}}")
	want := []string{"missing .spec.automountServiceAccountToken", "missing .spec.securityContext.runAsUser"}
	if got := paths(diff(t, git, live)); cmp.Diff(want, got) != "" {
		t.Errorf("got %v", got)
	}
	git["apiVersion"], live["apiVersion"] = "example.com/v1", "example.com/v1" // a CRD's server leaves nothing out
	if got := diff(t, git, live); len(got) != 5 {
		t.Errorf("a custom resource: got %v", paths(got))
	}
}

// The class of a volume is left out where it is the empty text; of a claim, where it says no class, it is kept.
func TestAVolumeOfNoClassIsLikeOneWithoutAClass(t *testing.T) {
	git := given.Object(t, "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\nspec: {storageClassName: ''}")
	live := given.Object(t, "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: a}\nspec: {}")
	if got := diff(t, git, live); len(got) > 0 {
		t.Errorf("got %v", paths(got))
	}
	git["kind"], live["kind"] = "PersistentVolumeClaim", "PersistentVolumeClaim"
	if got := diff(t, git, live); len(got) != 1 {
		t.Errorf("a claim: got %v", paths(got))
	}
}

func TestWithADryRunItsAnswerIsWhatCounts(t *testing.T) {
	git := given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: plain, b: new}")
	expected := given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: mutated, b: new, c: shared}")
	live := given.Object(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: mutated, b: old, c: shared, d: gone}")
	applied, err := ownership.ParseShape([]byte(`{"f:data":{"f:a":{},"f:b":{},"f:c":{},"f:d":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := compare.CompareWithoutBaseline(compare.Pair{Desired: git, Live: live, Expected: expected, Applied: applied, Native: true}).Differences
	if diff := cmp.Diff([]string{"mutated .data.a", "changed .data.b", "extra .data.d"}, paths(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsNotThereDiffersAsAWhole(t *testing.T) {
	got := compare.CompareWithoutBaseline(compare.Pair{Desired: object.Object{"kind": "ConfigMap"}}).Differences
	if len(got) != 1 || got[0].Kind != compare.Missing || len(got[0].Path) != 0 {
		t.Errorf("got %+v", got)
	}
}

// FuzzUnsettled compares any two objects: nothing differs from itself, no path is reported twice, and what is reported differs.
func FuzzUnsettled(f *testing.F) {
	f.Add(`{"apiVersion":"v1","spec":{"containers":[{"name":"a","image":"x"}],"finalizers":["a"]}}`, `{"spec":{"containers":[{"name":"a","image":"y"},{"name":"b"}]}}`)
	f.Add(`{"metadata":{"finalizers":["a","b"]},"spec":{"ports":[{"port":1},{"port":"x"}],"a":[[1],null]}}`, `{"spec":{"ports":{},"a":[[1.0],null]}}`)
	f.Add(`{"apiVersion":"x.y/v1","spec":[{"name":1},{"name":1}]}`, `{"spec":[{"name":1}]}`)
	f.Add(`{"apiVersion":"v1","containers":[{"name":1,"a":1},{"name":1,"a":2}]}`, `{"containers":[{"name":1,"a":3}]}`)
	f.Add(`{"metadata":{"finalizers":["a","a"]}}`, `{"metadata":{"finalizers":[]}}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		git, ok := decode(first)
		live, too := decode(second)
		if !ok || !too {
			return
		}
		git = desired.Sanitise(git)
		for _, native := range []bool{true, false} {
			if got := compare.CompareWithoutBaseline(compare.Pair{Desired: git, Live: git.Clone(), Native: native}).Differences; len(got) > 0 {
				t.Fatalf("it differs from itself: %v", paths(got))
			}
			seen := map[string]bool{}
			for _, d := range compare.CompareWithoutBaseline(compare.Pair{Desired: git, Live: live, Native: native}).Differences {
				if seen[d.Path.String()] {
					t.Fatalf("%s is told twice", d.Path)
				}
				seen[d.Path.String()] = true
				if d.Kind == compare.Changed && d.Desired.Equal(d.Live) {
					t.Fatalf("%s does not differ", d.Path)
				}
			}
		}
	})
}

func decode(text string) (object.Object, bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	var o map[string]any
	err := utiljson.Unmarshal([]byte(text), &o)
	return o, err == nil && o != nil
}
