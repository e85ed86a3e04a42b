package pairing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/pairing"
)

func at(i int, names ...string) field.Path {
	return append(field.Path{{Index: &i}}, field.NewPath(names...)...)
}

func item(pairs ...any) map[string]any {
	out := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i].(string)] = pairs[i+1]
	}
	return out
}

func foreign(name string) field.Path {
	return field.Path{field.KeyElement(item("name", name), []string{"name"})}
}

func TestItemsArePairedByWhatTheyAre(t *testing.T) {
	weights := []field.Path{at(0, "weight"), at(1, "weight")}
	for name, c := range map[string]struct {
		git, live []any
		parts     []field.Path
		want      []int
	}{
		"an item was put before them": {
			[]any{item("name", "a", "weight", 1)}, []any{item("name", "x", "weight", 2), item("name", "a", "weight", 3)}, weights, []int{1},
		},
		"Git has a new one": {
			[]any{item("host", "a", "weight", 1), item("host", "b", "weight", 2)}, []any{item("host", "b", "weight", 3)}, weights, []int{-1, 0},
		},
		"names that are not the only ones of their kind": {
			[]any{item("host", "a", "port", 1), item("host", "a", "port", 2)}, []any{item("host", "a", "port", 2), item("host", "a", "port", 1)}, weights, []int{1, 0},
		},
		"no names, and the part differs": {
			[]any{item("match", "a", "weight", 1), item("match", "b", "weight", 2)}, []any{item("match", "b", "weight", 3), item("match", "a", "weight", 4)}, weights, []int{1, 0},
		},
		"no names, and as many of both": {
			[]any{item("match", "a", "port", 1, "weight", 1), item("match", "b", "weight", 2)},
			[]any{item("match", "c", "port", 1, "weight", 3), item("match", "b", "weight", 4)}, weights, []int{0, 1},
		},
		"no names, as many of both, and nothing in common": {
			[]any{item("match", "a", "port", 2, "weight", 1), item("match", "b", "weight", 2)},
			[]any{item("match", "c", "port", 1, "weight", 1), item("match", "b", "weight", 4)}, weights, []int{-1, 1},
		},
		"no names, and one of both": {
			[]any{item("match", "a", "weight", 1)}, []any{item("match", "c", "weight", 3)}, weights, []int{0},
		},
		"nothing but the part, and as many of both": {
			[]any{item("weight", 1), item("weight", 2)}, []any{item("weight", 3), item("weight", 4)}, weights, []int{0, 1},
		},
		"no names, and more in live": {
			[]any{item("match", "a", "weight", 1)}, []any{item("match", "c", "weight", 3), item("match", "b", "weight", 4)}, weights, []int{-1},
		},
		"nothing but the part, and more in live": {
			[]any{item("weight", 1)}, []any{item("match", "c", "weight", 3), item("weight", 4)}, weights, []int{-1},
		},
		"Git has renamed it": {
			[]any{item("name", "b", "weight", 1)}, []any{item("name", "a", "weight", 3)}, weights, []int{-1},
		},
		"Git has changed a field by which others are known": {
			[]any{item("name", "a", "path", "/new", "weight", 1)}, []any{item("name", "x", "path", "/new"), item("name", "a", "path", "/", "weight", 3)}, weights, []int{1},
		},
		"Git has given it a name": {
			[]any{item("name", "a", "weight", 1)}, []any{item("weight", 3)}, weights, []int{0},
		},
		"the name itself is not Git's": {
			[]any{item("name", "a", "port", 1)}, []any{item("name", "b", "port", 1)}, []field.Path{at(0, "name")}, []int{0},
		},
		"one of live's is not Git's": {
			[]any{item("timeout", 2, "weight", 1)}, []any{item("name", "x", "weight", 3), item("timeout", 1, "weight", 4)},
			append(weights, foreign("x")), []int{1},
		},
		"a value that is not Git's": {
			[]any{"--one", "--two"}, []any{"--one", "--three"}, []field.Path{at(1)}, []int{0, 1},
		},
		"a value that is not Git's, in a list of another length": {
			[]any{"--one", "--two"}, []any{"--one", "--three", "--four"}, []field.Path{at(1)}, []int{0, 1},
		},
		"a value that is not Git's is gone": {
			[]any{"--one", "--two"}, []any{"--one"}, []field.Path{at(1)}, []int{0, -1},
		},
		"the server's defaults": {
			[]any{item("match", "b", "weight", 1), item("match", "a", "weight", 1)}, []any{item("match", "a", "port", 80), item("match", "b", "port", 80)}, weights, []int{1, 0},
		},
	} {
		if diff := cmp.Diff(c.want, pairing.PairItems(c.git, c.live, c.parts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// lists are a list of Git's and a live one, with parts that are not Git's.
type lists struct {
	git, live []any
	parts     []field.Path
}

func genItem(t *rapid.T, label string) any {
	out := map[string]any{}
	for _, key := range []string{"name", "host", "a", "b", "weight"} {
		if rapid.Bool().Draw(t, label+" has "+key) {
			out[key] = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, label+key)
		}
	}
	return out
}

func genLists(t *rapid.T) lists {
	var l lists
	for i := range rapid.IntRange(0, 4).Draw(t, "of Git") {
		l.git = append(l.git, genItem(t, fmt.Sprint("git", i)))
		switch rapid.IntRange(0, 3).Draw(t, "part") {
		case 0:
			l.parts = append(l.parts, at(i, "weight"))
		case 1:
			l.parts = append(l.parts, at(i))
		}
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "of live") {
		l.live = append(l.live, genItem(t, fmt.Sprint("live", i)))
	}
	if rapid.Bool().Draw(t, "foreign") {
		l.parts = append(l.parts, foreign("x"))
	}
	return l
}

func TestNoItemHasTwoPartners(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := genLists(rt)
		partners := pairing.PairItems(l.git, l.live, l.parts)
		seen := map[int]bool{}
		for i, j := range partners {
			if j >= len(l.live) || j >= 0 && seen[j] {
				rt.Fatalf("item %d has the partner %d in %v", i, j, partners)
			}
			seen[j] = true
		}
		if len(partners) != len(l.git) {
			rt.Fatalf("%d partners of %d items", len(partners), len(l.git))
		}
	})
}

func TestEqualListsArePairedByPosition(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := genLists(rt)
		for i, j := range pairing.PairItems(l.git, l.git, l.parts) {
			if i != j {
				rt.Fatalf("%d has the partner %d in %v", i, j, l.git)
			}
		}
	})
}

func TestNamedItemsArePairedInAnyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), rapid.ID).Draw(rt, "names")
		key := rapid.SampledFrom([]string{"name", "host"}).Draw(rt, "key")
		var git, live []any
		for _, name := range names {
			git = append(git, item(key, name, "weight", rapid.Int().Draw(rt, "weight")))
		}
		order := rapid.Permutation(names).Draw(rt, "order")
		for _, name := range order {
			if !rapid.Bool().Draw(rt, "gone "+name) {
				live = append(live, item(key, name, "weight", rapid.Int().Draw(rt, "weight"), "other", true))
			}
			if rapid.Bool().Draw(rt, "more") {
				live = append(live, item(key, name+" of another", "weight", 1))
			}
		}
		for i, j := range pairing.PairItems(git, live, []field.Path{at(0, "weight")}) {
			want := slices.IndexFunc(live, func(v any) bool { return v.(map[string]any)[key] == git[i].(map[string]any)[key] })
			if j != want {
				rt.Fatalf("%v has the partner %d, want %d in %v", git[i], j, want, live)
			}
		}
	})
}

func TestItemsOfDifferentNamesAreNoPair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := genLists(rt)
		l.parts = slices.DeleteFunc(l.parts, func(p field.Path) bool { return len(p) == 1 })
		for i, j := range pairing.PairItems(l.git, l.live, l.parts) {
			if j < 0 {
				continue
			}
			git, live := l.git[i].(map[string]any), l.live[j].(map[string]any)
			for _, key := range []string{"name", "host"} {
				if git[key] == nil || live[key] == nil {
					continue
				}
				if git[key] != live[key] {
					rt.Fatalf("%v is the partner of %v", live, git)
				}
				break // others of its fields may have changed
			}
		}
	})
}

func TestAnItemThatIsNotGitsIsNoPartner(t *testing.T) {
	git, live := []any{item("weight", 1)}, []any{item("name", "x", "weight", 2)}
	if got := pairing.PairItems(git, live, []field.Path{at(0, "weight"), foreign("x")}); got[0] != -1 {
		t.Errorf("the partner is %d", got[0])
	}
	git = []any{item("name", "x", "weight", 1)}
	if got := pairing.PairItems(git, live, []field.Path{at(0, "weight"), foreign("x")}); got[0] != 0 {
		t.Errorf("Git names it, and its partner is %d", got[0])
	}
}

func TestPathsAreTranslatedThere(t *testing.T) {
	route := func(host string, weight int64) any { return item("destination", item("host", host), "weight", weight) }
	git := item("spec", item("http", []any{item("name", "a", "route", []any{route("s", 1), route("c", 2)})}))
	live := item("spec", item("http", []any{item("name", "x"), item("name", "a", "route", []any{route("c", 3), route("s", 4)})}, "tls", []any{item("name", "y")}))
	weight := func(i, j int) field.Path {
		return slices.Concat(field.NewPath("spec", "http"), at(i, "route"), at(j, "weight"))
	}
	pairs := pairing.NewPairs(git, live, []field.Path{weight(0, 0), weight(0, 1)})
	for _, x := range []struct{ git, live field.Path }{{weight(0, 0), weight(1, 1)}, {weight(0, 1), weight(1, 0)}} {
		if got, ok := pairs.InLive(x.git); !ok || !got.Equals(x.live) {
			t.Errorf("%s is %s in live, want %s", field.PathString(x.git), field.PathString(got), field.PathString(x.live))
		}
		if got, ok := pairs.InGit(x.live); !ok || !got.Equals(x.git) {
			t.Errorf("%s is %s in Git, want %s", field.PathString(x.live), field.PathString(got), field.PathString(x.git))
		}
	}
	for _, p := range []field.Path{weight(1, 0), weight(0, 2)} {
		if got, ok := pairs.InLive(p); ok {
			t.Errorf("%s is %s in live", field.PathString(p), field.PathString(got))
		}
	}
	if got, ok := pairs.InGit(weight(0, 0)); ok {
		t.Errorf("what is live's alone is %s in Git", field.PathString(got))
	}
	tls := slices.Concat(field.NewPath("spec", "tls"), at(0, "name"))
	if got, ok := pairs.InGit(tls); !ok || !got.Equals(tls) {
		t.Errorf("%s in a list that Git has not is %s", field.PathString(tls), field.PathString(got))
	}
	if got, ok := (*pairing.Pairs)(nil).InLive(tls); !ok || !got.Equals(tls) {
		t.Errorf("without pairs it is %s", field.PathString(got))
	}
}

// BenchmarkPairItems pairs the lists of an ordinary VirtualService, and long ones without names of which no two items are alike.
func BenchmarkPairItems(b *testing.B) {
	long := func(prefix string, n int) (out []any) {
		for i := range n {
			out = append(out, item("match", prefix+strings.Repeat("x", i%7), "weight", i))
		}
		return out
	}
	for name, c := range map[string][2][]any{
		"two":      {{item("name", "a", "weight", 1), item("name", "b", "weight", 2)}, {item("name", "a", "weight", 3), item("name", "b", "weight", 4)}},
		"unlike":   {long("a", 100), long("b", 100)},
		"too many": {long("a", 10_000), long("b", 10_000)},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pairing.PairItems(c[0], c[1], []field.Path{at(0, "weight")})
			}
		})
	}
}
