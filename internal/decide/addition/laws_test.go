package addition_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/truce-gitops/truce/internal/decide/addition"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// part is what one writer wants of an object, and the fields that it owns by that. The name of a field says what kind of value it holds: a and
// b are texts, m is a map, l a list whose items have names, s a set.
type part struct {
	object map[string]any
	paths  []field.Path
}

func genPart(t *rapid.T, frames bool) *part {
	p := &part{object: map[string]any{"metadata": map[string]any{"labels": map[string]any{}}, "spec": map[string]any{}}}
	p.fill(t, p.object["metadata"].(map[string]any)["labels"].(map[string]any), field.NewPath("metadata", "labels"), []string{"a", "b", "c"}, frames)
	p.fill(t, p.object["spec"].(map[string]any), field.NewPath("spec"), []string{"a", "b", "m", "l", "s"}, frames)
	return p
}

// fill gives a map some of the fields. With frames who makes a map or a list owns its presence, too, as with an update.
func (p *part) fill(t *rapid.T, m map[string]any, at field.Path, names []string, frames bool) {
	if len(at) > 6 {
		names = []string{"a", "b"}
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, field.PathString(at)) {
		here := append(at.Copy(), field.NewPath(name)...)
		if frames && slices.Contains([]string{"m", "l", "s"}, name) {
			p.paths = append(p.paths, here)
		}
		switch name {
		case "m":
			inner := map[string]any{}
			m[name] = inner
			p.fill(t, inner, here, []string{"a", "b", "m", "l", "s"}, frames)
		case "l":
			m[name] = p.items(t, here, frames)
		case "s":
			m[name] = p.members(t, here)
		default:
			m[name] = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "text")
			p.paths = append(p.paths, here)
		}
	}
}

func (p *part) items(t *rapid.T, at field.Path, frames bool) []any {
	out := []any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"i", "j", "k"}), 1, 2, rapid.ID).Draw(t, "items") {
		here := append(at.Copy(), field.KeyElement(map[string]any{"name": name}, []string{"name"}))
		item := map[string]any{}
		p.fill(t, item, here, []string{"a", "b", "m"}, frames)
		item["name"] = name
		p.paths = append(p.paths, here, append(here.Copy(), field.NewPath("name")...))
		out = append(out, item)
	}
	return out
}

func (p *part) members(t *rapid.T, at field.Path) []any {
	out := []any{}
	for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"u", "v", "w"}), 1, 2, rapid.ID).Draw(t, "set") {
		v := value.NewValueInterface(s)
		p.paths = append(p.paths, append(at.Copy(), field.Element{Value: &v}))
		out = append(out, s)
	}
	return out
}

// merged is a with what only b has.
func merged(a, b any) any {
	switch b := b.(type) {
	case map[string]any:
		out, _ := object.CloneValue(a).(map[string]any)
		if out == nil {
			out = map[string]any{}
		}
		for k, v := range b {
			out[k] = merged(out[k], v)
		}
		return out
	case []any:
		out, _ := object.CloneValue(a).([]any)
		for _, item := range b {
			i := slices.IndexFunc(out, func(o any) bool { return sameItem(o, item) })
			if i < 0 {
				out = append(out, object.CloneValue(item))
				continue
			}
			out[i] = merged(out[i], item)
		}
		return out
	}
	if a != nil {
		return a
	}
	return b
}

func sameItem(a, b any) bool {
	x, isMap := a.(map[string]any)
	y, _ := b.(map[string]any)
	return isMap && x["name"] == y["name"] || !isMap && a == b
}

// scene is an object of Git's to which others have added.
type scene struct {
	addition.Input
	right *part // of a writer to a subresource
}

func genScene(t *rapid.T) scene {
	git := genPart(t, false)
	s := scene{right: genPart(t, false)}
	live := merged(git.object, s.right.object)
	add := func(o ownership.Entry, p *part) {
		o.Fields = shape(t, p.paths)
		s.Owners = append(s.Owners, o)
	}
	add(ownership.Entry{Manager: ownership.Manager, Operation: "Apply"}, git)
	add(ownership.Entry{Manager: "some-scaler", Operation: "Update", Subresource: "scale"}, s.right)
	for i, manager := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"kubectl-edit", "kubectl-label", "some-tool"}), 0, 3, rapid.ID).Draw(t, "managers") {
		p := genPart(t, rapid.Bool().Draw(t, "frames"))
		live = merged(live, p.object)
		add(ownership.Entry{Manager: manager, Operation: "Update", Time: time.Unix(int64(rapid.IntRange(1, 9).Draw(t, "time")*10+i), 0)}, p)
	}
	s.Desired, s.Live = git.object, live.(map[string]any)
	return s
}

func shape(t *rapid.T, paths []field.Path) ownership.Shape {
	text, err := fieldpath.NewSet(paths...).ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	s, err := ownership.ParseShape(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAllThatWasAddedIsFoundAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := genScene(t)
		before := object.CloneValue(map[string]any(s.Live))
		found := addition.FindAdditions(s.Input)
		inOrder(t, s.Desired, found)
		s.takenAway(t, found)
		s.held(t, found)
		s.Owners = rapid.Permutation(s.Owners).Draw(t, "owners")
		if a, b := named(found), named(addition.FindAdditions(s.Input)); !cmp.Equal(a, b) {
			t.Fatalf("it depends on the order of the entries:\n%s", cmp.Diff(a, b))
		}
		if !cmp.Equal(before, map[string]any(s.Live)) {
			t.Fatal("the live object was changed")
		}
	})
}

// inOrder holds for whatever is there: the additions are in the order of their paths, none lies in another, and Git names none of them.
func inOrder(t interface{ Fatalf(string, ...any) }, git object.Object, found []compare.Addition) {
	for i, a := range found {
		if _, there := field.ValueAt(git, a.Path); there {
			t.Fatalf("Git names %s", field.PathString(a.Path))
		}
		for j, b := range found[:i] {
			if field.HasPrefix(a.Path, b.Path) || field.HasPrefix(b.Path, a.Path) {
				t.Fatalf("%s and %s lie in each other", field.PathString(a.Path), field.PathString(b.Path))
			}
			if j == i-1 && b.Path.Compare(a.Path) >= 0 {
				t.Fatalf("%s comes after %s", field.PathString(a.Path), field.PathString(b.Path))
			}
		}
	}
}

// takenAway takes the additions from the live object: Git's part is left, and of who has a right.
func (s scene) takenAway(t *rapid.T, found []compare.Addition) {
	pointers := addition.Pointers(s.Live, found)
	if len(pointers) != len(found) {
		t.Fatalf("%d additions are at %d places", len(found), len(pointers))
	}
	left := object.CloneValue(map[string]any(s.Live))
	for _, p := range pointers {
		var ok bool
		if left, ok = without(left, p); !ok {
			t.Fatalf("nothing is at %s once those before it are gone", p)
		}
	}
	want := filled(merged(map[string]any(s.Desired), s.right.object))
	if got := filled(left); !cmp.Equal(sorted(want), sorted(got)) {
		t.Fatalf("without the additions, not what Git and a rightful writer want (-want +got):\n%s\nadditions: %v", cmp.Diff(sorted(want), sorted(got)), named(found))
	}
}

// without is what a JSON patch makes of a value that removes what the pointer names.
func without(v any, p field.Pointer) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		inner, there := v[p[0]]
		if len(p) == 1 {
			delete(v, p[0])
			return v, there
		}
		inner, there = without(inner, p[1:])
		v[p[0]] = inner
		return v, there
	case []any:
		i, err := strconv.Atoi(p[0])
		if err != nil || i >= len(v) {
			return v, false
		}
		if len(p) == 1 {
			return slices.Delete(v, i, i+1), true
		}
		inner, there := without(v[i], p[1:])
		v[i] = inner
		return v, there
	}
	return v, false
}

// filled is a value without maps and lists that are empty: whether these stay has no meaning.
func filled(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, inner := range v {
			if f := filled(inner); f != nil {
				out[k] = f
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	case []any:
		var out []any
		for _, inner := range v {
			if f := filled(inner); f != nil {
				out = append(out, f)
			}
		}
		if len(out) > 0 {
			return out
		}
		return nil
	}
	return v
}

// sorted prints a value with the items of each list in one order.
func sorted(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, inner := range v {
			out[k] = sorted(inner)
		}
		return out
	case []any:
		var out []string
		for _, inner := range v {
			text, err := json.Marshal(sorted(inner))
			if err != nil {
				panic(err)
			}
			out = append(out, string(text))
		}
		slices.Sort(out)
		return out
	}
	return v
}

// held checks that an addition names all who hold something of it, and the last of them as its writer.
func (s scene) held(t *rapid.T, found []compare.Addition) {
	for _, a := range found {
		var holders []string
		var last ownership.Entry
		people := true
		for _, o := range s.Owners {
			owns := func(p field.Path) bool { return slices.ContainsFunc(o.Fields.Paths(), p.Equals) }
			if o.Subresource != "" || o.Manager == ownership.Manager || !slices.ContainsFunc(a.Owned, owns) {
				continue
			}
			holders = append(holders, o.Manager)
			if len(o.Fields.Below(a.Path)) == 0 {
				continue // of the list that goes with it alone
			}
			people = people && ownership.IsPerson(o.Manager)
			if o.Time.After(last.Time) {
				last = o
			}
		}
		var names []string
		for _, o := range a.Held {
			names = append(names, o.Manager)
		}
		slices.Sort(holders)
		slices.Sort(names)
		if !cmp.Equal(holders, names) || a.People != people {
			t.Fatalf("%s is held by %v, people: %v; want %v, %v", field.PathString(a.Path), names, a.People, holders, people)
		}
		if a.Writer.Manager != last.Manager || !a.Writer.Time.Equal(last.Time) {
			t.Fatalf("%s is written by %s at %s, want %s at %s", field.PathString(a.Path), a.Writer.Manager, a.Writer.Time, last.Manager, last.Time)
		}
	}
}

func named(found []compare.Addition) []string {
	var out []string
	for _, a := range found {
		var owned []string
		for _, p := range a.Owned {
			owned = append(owned, field.PathString(p))
		}
		slices.Sort(owned)
		out = append(out, fmt.Sprint(field.PathString(a.Path), owned, a.Writer.Name, a.People, a.Kept))
	}
	return out
}

// FuzzFind gives it objects of any form: managedFields that name what is not there, lists where maps should be.
func FuzzFind(f *testing.F) {
	f.Add(`{"kind":"ConfigMap"}`, `{"metadata":{"labels":{"a":"1"},"managedFields":[{"manager":"kubectl","operation":"Update","fieldsV1":{"f:metadata":{"f:labels":{"f:a":{}}}}}]}}`)
	f.Add(`{"spec":[1]}`, `{"metadata":{"managedFields":[{"manager":"x","fieldsV1":{"f:spec":{".":{},"f:a":{},"k:{\"name\":\"a\"}":{},"v:1":{},"i:0":{}}}}]},"spec":[{"name":"a"},1]}`)
	f.Add(`{"spec":{"l":[]}}`, `{"metadata":{"managedFields":[{"manager":"x","fieldsV1":{"f:spec":{"f:l":{"i:0":{"f:a":{}},"i:1":{}}}}}]},"spec":{"l":[{"a":[]},{"a":{}}]}}`)
	f.Fuzz(func(t *testing.T, git, live string) {
		in := addition.Input{}
		if utiljson.Unmarshal([]byte(git), (*map[string]any)(&in.Desired)) != nil || utiljson.Unmarshal([]byte(live), (*map[string]any)(&in.Live)) != nil {
			return
		}
		var err error
		if in.Owners, err = ownership.Entries(in.Live); err != nil {
			return
		}
		found := addition.FindAdditions(in)
		inOrder(t, in.Desired, found)
		addition.Pointers(in.Live, found)
		addition.WithoutDefaults(in.Live, in.Desired, found)
	})
}
