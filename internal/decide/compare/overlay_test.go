package compare_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// routes is an object with one atomic list of named items.
func routes(items ...any) object.Object {
	return object.Object{"apiVersion": "example.com/v1", "kind": "Router", "spec": map[string]any{"routes": items}}
}

func route(name string, weight, timeout int64) map[string]any {
	return map[string]any{"name": name, "weight": weight, "timeout": timeout}
}

func weightOf(i int) field.Path {
	return append(append(field.NewPath("spec", "routes"), field.Element{Index: &i}), field.NewPath("weight")...)
}

func routeNamed(name string) field.Path {
	return append(field.NewPath("spec", "routes"), field.KeyElement(map[string]any{"name": name}, []string{"name"}))
}

func namesOf(items []any) []string {
	out := []string{}
	for _, item := range items {
		out = append(out, item.(map[string]any)["name"].(string))
	}
	return out
}

// TestAnOverlayTakesOfLiveWhatIsWithheldAndOfTheSameItem: each item of Git's keeps all that Git names but the withheld parts, which it has from the item of
// that name in live; without one, it keeps them too. Items that are another's stay before the item of Git's before which they stand in live.
func TestAnOverlayTakesOfLiveWhatIsWithheldAndOfTheSameItem(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(label string) int64 { return rapid.Int64Range(1, 1000).Draw(rt, label) }
		var git, live []any
		var paths []field.Path
		for i, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(rt, "git") {
			git = append(git, route(name, draw("weight"), draw("timeout")))
			if rapid.Bool().Draw(rt, "withheld") {
				paths = append(paths, weightOf(i))
			}
		}
		weights := map[string]int64{}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(names), rapid.ID).Draw(rt, "live") {
			weights[name] = draw("weight of live")
			live = append(live, route(name, weights[name], draw("timeout of live")))
		}
		foreign := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"x", "y"}), rapid.ID).Draw(rt, "foreign")
		for _, name := range foreign {
			live = slices.Insert(live, rapid.IntRange(0, len(live)).Draw(rt, "place of "+name), any(route(name, draw("weight of another"), 1)))
			paths = append(paths, routeNamed(name))
		}
		out, _ := compare.Overlay(routes(git...), routes(live...), paths).At("spec", "routes").([]any)

		var own, others []any
		for i, item := range out {
			name := item.(map[string]any)["name"].(string)
			if !slices.Contains(foreign, name) {
				own = append(own, item)
				continue
			}
			others = append(others, item)
			if next := slices.IndexFunc(out[i:], func(v any) bool { return !slices.Contains(foreign, v.(map[string]any)["name"].(string)) }); next >= 0 {
				before, after := position(live, name), position(live, out[i+next].(map[string]any)["name"].(string))
				if after >= 0 && before > after {
					rt.Fatalf("%s is before another item than in live: %v of %v", name, namesOf(out), namesOf(live))
				}
			}
		}
		if len(git) > 0 && len(others) != len(foreign) {
			rt.Fatalf("of another's items %v there are %v", foreign, namesOf(others))
		}
		for i, item := range own {
			want := route(git[i].(map[string]any)["name"].(string), git[i].(map[string]any)["weight"].(int64), git[i].(map[string]any)["timeout"].(int64))
			if w, there := weights[want["name"].(string)]; there && slices.ContainsFunc(paths, weightOf(i).Equals) {
				want["weight"] = w
			}
			if diff := cmp.Diff(any(want), item); diff != "" {
				rt.Fatalf("item %d of Git's %v with live %v (-want +got):\n%s", i, git, live, diff)
			}
		}
	})
}

func position(items []any, name string) int {
	return slices.Index(namesOf(items), name)
}

func TestAnOverlayLeavesOutWhatLiveHasNot(t *testing.T) {
	args := func(items ...any) object.Object { return object.Object{"args": items} }
	one, two := 1, 2
	got := compare.Overlay(args("a", "b", "c"), args("a"), []field.Path{{field.NewPath("args")[0], {Index: &one}}, {field.NewPath("args")[0], {Index: &two}}})
	if diff := cmp.Diff(args("a"), got); diff != "" {
		t.Error(diff)
	}
	got = compare.Overlay(routes(route("a", 1, 2)), routes(map[string]any{"name": "a"}), []field.Path{weightOf(0)})
	if diff := cmp.Diff(routes(map[string]any{"name": "a", "timeout": int64(2)}), got); diff != "" {
		t.Error(diff)
	}
}

// TestAnOverlayKeepsAnItemOfWhichItIsNotKnownThatLiveHasItNot: an argument that a rule names by its position, before which another one was put.
func TestAnOverlayKeepsAnItemOfWhichItIsNotKnownThatLiveHasItNot(t *testing.T) {
	args := func(items ...any) object.Object { return object.Object{"args": items} }
	one := 1
	second := []field.Path{{field.NewPath("args")[0], {Index: &one}}}
	for _, x := range []struct{ git, live, want object.Object }{
		{args("--one", "--two"), args("--zero", "--one", "--three"), args("--one", "--two")},
		{args("--one", "--two"), args("--one", "--three"), args("--one", "--three")},
		{args("--one", "--two", "--four"), args("--one", "--four"), args("--one", "--four")}, // live has not the second one
	} {
		if diff := cmp.Diff(x.want, compare.Overlay(x.git, x.live, second)); diff != "" {
			t.Errorf("%v on %v (-want +got):\n%s", x.git, x.live, diff)
		}
	}
}

// TestWithoutADryRunWithheldPartsOfAListAreNoDifferenceOfTheList: where the API server refuses a dry run, what Git names is compared by itself.
func TestWithoutADryRunWithheldPartsOfAListAreNoDifferenceOfTheList(t *testing.T) {
	git, live := routes(route("a", 100, 5)), routes(route("x", 1, 1), route("a", 80, 5))
	for want, in := range map[string]compare.Input{
		"[changed .spec.routes[0].weight]": {Withheld: []field.Path{weightOf(0), routeNamed("x")}},
		"[changed .spec.routes]":           {Withheld: []field.Path{weightOf(0)}},
	} {
		in.Desired, in.Live, in.WithoutBaseline, in.Hasher = git, live, true, ownership.NewHasher()
		r, err := compare.CompareObject(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(paths(r.Differences)); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
