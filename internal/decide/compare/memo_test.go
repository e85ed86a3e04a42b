package compare_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// owned is an object of which we own the named fields of the spec, and another manager one more.
func owned(fields ...string) object.Object {
	ours, spec := map[string]any{".": map[string]any{}}, map[string]any{}
	for _, f := range fields {
		ours["f:"+f], spec[f] = map[string]any{}, "x"
	}
	entry := func(manager, operation string, of map[string]any) any {
		return map[string]any{"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsV1": map[string]any{"f:spec": of}}
	}
	return object.Object{"spec": spec, "metadata": map[string]any{"managedFields": []any{
		entry("kubectl", "Update", map[string]any{"f:theirs": map[string]any{}}), entry(ownership.Manager, "Apply", ours),
	}}}
}

func TestWhatIsRememberedIsWhatWouldBeRead(t *testing.T) {
	hasher := ownership.NewHasher()
	var memo compare.Memo
	for _, c := range []struct {
		what           string
		settled, later object.Object
	}{
		{"nothing has changed", owned("a", "b"), owned("a", "b")},
		{"a field is no longer ours", owned("a", "b"), owned("a")},
		{"another field is ours", owned("a", "b"), owned("a", "c")},
		{"one more is ours", owned("a", "b"), owned("a", "b", "c")},
		{"nothing is ours", owned("a", "b"), object.Object{}},
		{"it is not there", owned("a", "b"), nil},
		{"it is another object's baseline", owned("c"), owned("a", "b")},
	} {
		first, err := ownership.Entries(c.settled)
		if err != nil {
			t.Fatal(err)
		}
		base := compare.NewBaseline(c.settled, first, hasher)
		for _, o := range []object.Object{c.settled, c.later, c.settled} {
			want, err := ownership.Entries(o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := memo.Owners(o, base)
			if diff := cmp.Diff(want, got, cmp.Comparer(ownership.Shape.Equal)); diff != "" || err != nil {
				t.Errorf("%s: %v\n%s", c.what, err, diff)
			}
			if a, b := ownership.ApplyEntry(want, ownership.Manager).JSON(), ownership.ApplyEntry(got, ownership.Manager).JSON(); a != b {
				t.Errorf("%s: %s is printed as %s", c.what, a, b)
			}
		}
	}
}

func TestAMemoForgetsRatherThanGrows(t *testing.T) {
	hasher := ownership.NewHasher()
	var memo compare.Memo
	for n := range 1000 {
		o := owned("a", fmt.Sprint("f", n%600))
		first, err := ownership.Entries(o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := memo.Owners(o, compare.NewBaseline(o, first, hasher))
		if diff := cmp.Diff(first, got, cmp.Comparer(ownership.Shape.Equal)); diff != "" || err != nil {
			t.Fatalf("%v\n%s", err, diff)
		}
	}
}

func TestABadEntryIsAnErrorAlsoWhereMuchIsRemembered(t *testing.T) {
	o := owned("a")
	first, err := ownership.Entries(o)
	if err != nil {
		t.Fatal(err)
	}
	base := compare.NewBaseline(o, first, ownership.NewHasher())
	var memo compare.Memo
	if _, err := memo.Owners(o, base); err != nil {
		t.Fatal(err)
	}
	spec, _ := o.At("metadata", "managedFields").([]any)[1].(map[string]any)["fieldsV1"].(map[string]any)["f:spec"].(map[string]any)
	spec["f:a"] = "no map"
	if _, err := memo.Owners(o, base); err == nil {
		t.Error("a field that holds no map was taken")
	}
}
