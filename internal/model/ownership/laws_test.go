package ownership_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

func TestPutThenGetGivesWhatWasPut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := genTree(t)
		p := rapid.SampledFrom(g.paths).Draw(t, "path")
		want, ok := field.ValueAt(g.object, p)
		if !ok {
			t.Fatalf("nothing is at %s", field.PathString(p))
		}
		made := map[string]any{}
		if !field.SetValue(made, p, want) {
			t.Fatalf("cannot put %s into nothing", field.PathString(p))
		}
		if got, ok := field.ValueAt(made, p); !ok || !field.EqualValues(got, want) {
			t.Fatalf("put %v at %s, got %v", want, field.PathString(p), got)
		}
		before := object.CloneValue(g.object)
		if !field.SetValue(g.object, p, want) || !field.EqualValues(before, g.object) {
			t.Fatalf("putting what is there at %s changes the object", field.PathString(p))
		}
	})
}

func TestPutOfEveryFieldMakesTheObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := genTree(t)
		made := map[string]any{}
		for _, p := range g.paths {
			v, _ := field.ValueAt(g.object, p)
			field.SetValue(made, p, object.CloneValue(v))
		}
		if !field.EqualValues(made, g.object) {
			t.Fatal(cmp.Diff(g.object, made))
		}
	})
}

func TestAFailedPutChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := genTree(t)
		other := genTree(t)
		before := object.CloneValue(g.object)
		if !field.SetValue(g.object, rapid.SampledFrom(other.paths).Draw(t, "path"), "new") && !field.EqualValues(before, g.object) {
			t.Fatal(cmp.Diff(before, g.object))
		}
	})
}

func TestDropTakesTheFieldAndNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := genTree(t)
		p := rapid.SampledFrom(g.paths).Draw(t, "path")
		before := object.Object(g.object).Clone()
		if !field.RemoveValue(g.object, p) || field.RemoveValue(g.object, p) {
			t.Fatalf("want %s to be dropped once", field.PathString(p))
		}
		if _, ok := field.ValueAt(g.object, p); ok {
			t.Fatalf("%s is still there", field.PathString(p))
		}
		for _, q := range g.paths {
			want, _ := field.ValueAt(before, q)
			got, ok := field.ValueAt(g.object, q)
			if !field.HasPrefix(q, p) && !field.HasPrefix(p, q) && !keyOf(q, p) && !keyOf(p, q) && (!ok || !field.EqualValues(want, got)) {
				t.Fatalf("dropping %s changed %s from %v to %v", field.PathString(p), field.PathString(q), want, got)
			}
		}
	})
}

// keyOf reports whether key is a key field of a list item that p lies in: without its key an item cannot be found.
func keyOf(p, key field.Path) bool {
	return field.IsListKey(key) && field.HasPrefix(p, key[:len(key)-1])
}

func TestAShapeIsReadAsItIsPrinted(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := genTree(rt)
		s := shape(t, sample(rt, g.paths, "own"))
		again, err := ownership.ParseShape([]byte(s.JSON()))
		if err != nil {
			rt.Fatal(err)
		}
		if again.JSON() != s.JSON() || !again.Equal(s) || !again.Is(s.JSON()) {
			rt.Fatalf("printed %s, read %s", s.JSON(), again.JSON())
		}
		other := shape(t, sample(rt, g.paths, "other"))
		if s.Is(other.JSON()) != (s.JSON() == other.JSON()) || s.Equal(other) != s.Is(other.JSON()) {
			rt.Fatalf("%s and %s", s.JSON(), other.JSON())
		}
	})
}

func TestWhatIsKnownOfAnEntryIsWhatWouldBeRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := genTree(rt)
		s := shape(t, sample(rt, g.paths, "own"))
		known, ok := s.As(s.JSON())
		if !ok {
			rt.Fatalf("%s is not what it is printed as", s.JSON())
		}
		own := rapid.SampledFrom([][]field.Path{s.Paths(), sample(rt, g.paths, "other")}).Draw(rt, "now")
		o := object.Object{"metadata": map[string]any{"managedFields": []any{map[string]any{
			"manager": ownership.Manager, "operation": "Apply", "fieldsV1": fieldsV1(t, own),
		}}}}
		want, err := ownership.Entries(o)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := known.Entries(o)
		if err != nil || !got[0].Fields.Equal(want[0].Fields) || got[0].Fields.JSON() != want[0].Fields.JSON() {
			rt.Fatalf("knowing %s: read %v, want %s (%v)", s.JSON(), got, want[0].Fields.JSON(), err)
		}
		if _, ok := s.As(want[0].Fields.JSON()); ok != s.Equal(want[0].Fields) {
			rt.Fatalf("%s is taken for %s", want[0].Fields.JSON(), s.JSON())
		}
	})
}

func TestAShapeOwnsItsPathsAndNoOthers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := genTree(rt)
		own := sample(rt, g.paths, "own")
		s := shape(t, own)
		if diff := cmp.Diff(texts(own), texts(s.Paths())); diff != "" {
			rt.Fatal(diff)
		}
		for _, p := range g.paths {
			owns := false
			for _, q := range own {
				owns = owns || p.Equals(q)
			}
			if s.Has(p) != owns {
				rt.Fatalf("has %s: %v", field.PathString(p), s.Has(p))
			}
			for i := range p {
				below := len(s.Below(p[:i+1])) > 0
				if s.Under(p[:i+1]) != below {
					rt.Fatalf("under %s: %v", field.PathString(p[:i+1]), !below)
				}
			}
		}
	})
}

func TestNothingHasChangedInWhatWasSettled(t *testing.T) {
	h := ownership.NewHasher()
	rapid.Check(t, func(rt *rapid.T) {
		g := genTree(rt)
		s := shape(t, sample(rt, g.paths, "own"))
		settled := h.Values(s, g.object)
		h.Changed(s, settled, object.Object(g.object).Clone(), func(p field.Path) { rt.Fatalf("%s has changed", field.PathString(p)) })
	})
}

func TestEachChangeOfAnOwnedFieldIsSeen(t *testing.T) {
	h := ownership.NewHasher()
	rapid.Check(t, func(rt *rapid.T) {
		g := genTree(rt)
		s := shape(t, g.paths)
		settled := h.Values(s, g.object)
		p := rapid.SampledFrom(g.paths).Draw(rt, "path")
		if field.IsListKey(p) {
			rt.Skip("a key has no other value")
		}
		if !s.Leaf(p) || rapid.Bool().Draw(rt, "drop") {
			field.RemoveValue(g.object, p)
		} else {
			field.SetValue(g.object, p, "another value")
		}
		seen := false
		h.Changed(s, settled, g.object, func(q field.Path) { seen = seen || q.Equals(p) })
		if !seen {
			rt.Fatalf("the change of %s is not seen", field.PathString(p))
		}
	})
}

func TestEqualValuesHaveEqualHashes(t *testing.T) {
	h := ownership.NewHasher()
	rapid.Check(t, func(t *rapid.T) {
		a, b := genScalar(t), genScalar(t)
		if field.EqualValues(a, b) != (h.Value(a) == h.Value(b)) {
			t.Fatalf("%v and %v", a, b)
		}
		if !field.ContainsValues(a, a) || field.EqualValues(a, b) != field.EqualValues(b, a) {
			t.Fatalf("%v and %v", a, b)
		}
	})
	for _, same := range [][2]any{{int64(3), 3.0}, {0.0, int64(0)}, {map[string]any{"a": 1.0}, map[string]any{"a": int64(1)}}} {
		if !field.EqualValues(same[0], same[1]) || h.Value(same[0]) != h.Value(same[1]) {
			t.Errorf("%v and %v are not the same", same[0], same[1])
		}
	}
	for _, other := range [][2]any{{int64(1<<53 + 1), int64(1 << 53)}, {int64(1<<53 + 1), float64(1 << 53)}, {"3", int64(3)}, {nil, ""}, {true, "true"}, {1.5, int64(1)}} {
		if field.EqualValues(other[0], other[1]) || h.Value(other[0]) == h.Value(other[1]) {
			t.Errorf("%v and %v are the same", other[0], other[1])
		}
	}
}

func TestHoldsAllowsMoreAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := genTree(t)
		live := object.Object(g.object).Clone()
		live["default"] = "added"
		if !field.ContainsValues(map[string]any(live), g.object) || field.ContainsValues(g.object, map[string]any(live)) {
			t.Fatal("an addition is a difference")
		}
	})
}

func TestTransferMovesPathsFromPeopleToUs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := genTree(rt)
		managers := []string{"kubectl-edit", "kube-controller-manager", ownership.Handover, ownership.Manager}
		held := map[string][]field.Path{}
		var entries []any
		all := map[string]bool{}
		for _, m := range managers {
			held[m] = sample(rt, g.paths, m)
			if len(held[m]) == 0 {
				continue
			}
			for _, p := range held[m] {
				all[field.PathString(p)] = true
			}
			entries = append(entries, entry(t, m, held[m]))
		}
		moved := sample(rt, g.paths, "moved")
		for _, p := range moved {
			all[field.PathString(p)] = true
		}
		out, err := ownership.Managed{Fields: entries, APIVersion: "v1"}.Transfer(moved)
		if err != nil {
			rt.Fatal(err)
		}
		owners, err := ownership.Entries(object.Object{"metadata": map[string]any{"managedFields": out}})
		if err != nil {
			rt.Fatal(err)
		}
		after := map[string]bool{}
		for _, o := range owners {
			for _, p := range o.Fields.Paths() {
				after[field.PathString(p)] = true
			}
			if o.Manager == "kube-controller-manager" {
				if diff := cmp.Diff(texts(held[o.Manager]), texts(o.Fields.Paths())); diff != "" {
					rt.Fatalf("a controller's entry was touched: %s", diff)
				}
			}
		}
		if diff := cmp.Diff(all, after); diff != "" {
			rt.Fatalf("the union of all that is owned has changed: %s", diff)
		}
		ours := ownership.ApplyEntry(owners, ownership.Manager)
		for _, p := range moved {
			if !ours.Has(p) || len(ownership.OthersOf(owners, ownership.Manager, p)) > 1 {
				rt.Fatalf("%s is not ours, or not from the people", field.PathString(p))
			}
		}
	})
}

func entry(t *testing.T, manager string, paths []field.Path) map[string]any {
	operation := "Update"
	if manager == ownership.Manager || manager == ownership.Handover {
		operation = "Apply"
	}
	return map[string]any{
		"manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fieldsV1(t, paths),
	}
}

func TestWithoutIsWhatTheOtherDoesNotOwn(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := genTree(rt)
		a, b := shape(t, sample(rt, g.paths, "a")), shape(t, sample(rt, g.paths, "b"))
		var want []field.Path
		for _, p := range a.Paths() {
			if !b.Under(p) {
				want = append(want, p)
			}
		}
		if diff := cmp.Diff(texts(want), texts(a.Without(b))); diff != "" {
			rt.Fatal(diff)
		}
	})
}

func TestPlainKeysAreReadAsTheLibraryReadsThem(t *testing.T) {
	for _, text := range []string{
		`k:{"name":"web"}`, `k:{"containerPort":80,"protocol":"TCP"}`, `k:{"b":"1","a":"2"}`, `k:{"a":01}`, `k:{}`, `k:{"a":1.5}`, `k:{"a":true}`,
		`k:{"a":"x\"y"}`, `k:{"a":"é"}`, `k:{"a":"x"},`, `k:{"a":"x",}`, `k:{"a" : "x"}`, `k:{"a":-1}`, `k:{"a":0}`, `k:{"a":"x"`, `k:{"a":}`, `k:{,"a":"x"}`,
		`k:{"a":12345678901234567890}`, `k:{"a":"b""c":"d"}`, `k:{"a":"b","a":"c"}`, `k:{"a":{}}`, `k:{"":""}`,
	} {
		quick, err := ownership.NewShape(map[string]any{text: map[string]any{}})
		want, wantErr := fieldpath.DeserializePathElement(text)
		if (err == nil) != (wantErr == nil) {
			t.Errorf("%s: got %v, want %v", text, err, wantErr)
			continue
		}
		if err == nil && !quick.Paths()[0].Equals(field.Path{want}) {
			t.Errorf("%s: got %s, want %s", text, quick.Paths()[0], want)
		}
	}
}
