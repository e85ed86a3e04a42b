package watch

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/object"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAStreamedListIsToldAsItArrives is what keeps a first list of thousands from being in memory whole.
func TestAStreamedListIsToldAsItArrives(t *testing.T) {
	var told []string
	s := newStore(live.Interest{GVK: object.GVK{Group: "apps", Version: "v1", Kind: "Deployment"}}, func(ev live.Event) {
		told = append(told, strings.Repeat("gone ", map[bool]int{true: 1}[ev.Gone])+ev.ID.Name+" "+ev.Object.UID())
	})
	arrives := s.Transformer()
	arrive := func(name, uid string) any {
		t.Helper()
		stub, err := arrives(deployment(name, uid))
		if err != nil {
			t.Fatal(err)
		}
		named, err := meta.Accessor(stub)
		if err != nil || named.GetNamespace() != "shop" || named.GetName() != name {
			t.Fatalf("the reflector cannot name what it keeps of %s: %v, %v", name, stub, err)
		}
		return stub
	}
	must(t, s.Replace([]any{arrive("a", "1"), arrive("b", "2")}, "10"))
	want := []string{"a 1", "b 2"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Fatal(diff)
	}
	stub := arrive("a", "3") // created again while the watch was down, as b was deleted
	want = append(want, "gone a 1", "a 3")
	if diff := cmp.Diff(want, told); diff != "" {
		t.Fatal(diff)
	}
	must(t, s.Replace([]any{stub}, "20"))
	if diff := cmp.Diff(append(want, "gone b 2"), told); diff != "" {
		t.Error(diff)
	}
}

func deployment(name, uid string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": "shop", "name": name, "uid": uid},
	}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
