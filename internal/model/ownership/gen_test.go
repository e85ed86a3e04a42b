package ownership_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/ownership"
)

// tree is a random object, and each field that a manager would own who had applied it.
type tree struct {
	object map[string]any
	paths  []field.Path
}

func genTree(t *rapid.T) tree {
	g := &tree{}
	g.object = g.genMap(t, 3, nil)
	return *g
}

func (g *tree) genMap(t *rapid.T, depth int, at field.Path) map[string]any {
	m := map[string]any{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "x.y/z", `q"<`}), 1, 3, rapid.ID).Draw(t, "names") {
		m[name] = g.genValue(t, depth-1, append(at.Copy(), field.NewPath(name)...))
	}
	return m
}

func (g *tree) genValue(t *rapid.T, depth int, at field.Path) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case depth > 0 && kind == 1:
		return g.genMap(t, depth, at)
	case depth > 0 && kind == 2:
		return g.genKeyed(t, depth, at)
	case kind == 3:
		var list []any
		for _, s := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"s", "t", "u"}), 1, 3, rapid.ID).Draw(t, "set") {
			list = append(list, s)
			v := value.NewValueInterface(s)
			g.paths = append(g.paths, append(at.Copy(), field.Element{Value: &v}))
		}
		return list
	}
	g.paths = append(g.paths, at)
	if kind == 4 {
		return []any{genScalar(t), genScalar(t)} // atomic
	}
	return genScalar(t)
}

func (g *tree) genKeyed(t *rapid.T, depth int, at field.Path) any {
	var list []any
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"i", "j", "k"}), 1, 3, rapid.ID).Draw(t, "items") {
		item := append(at.Copy(), field.KeyElement(map[string]any{"name": name}, []string{"name"}))
		g.paths = append(g.paths, item, append(item.Copy(), field.NewPath("name")...))
		m := g.genMap(t, depth-1, item)
		m["name"] = name
		list = append(list, m)
	}
	return list
}

func genScalar(t *rapid.T) any {
	switch rapid.IntRange(0, 4).Draw(t, "scalar") {
	case 0:
		return rapid.StringN(0, 3, 9).Draw(t, "text")
	case 1:
		return rapid.Int64().Draw(t, "number")
	case 2:
		return rapid.Float64Range(-1e18, 1e18).Draw(t, "fraction")
	case 3:
		return rapid.Bool().Draw(t, "bool")
	}
	return "x"
}

// shape builds what managedFields would say of the paths.
func shape(t testing.TB, paths []field.Path) ownership.Shape {
	s, err := ownership.NewShape(fieldsV1(t, paths))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fieldsV1(t testing.TB, paths []field.Path) map[string]any {
	text, err := fieldpath.NewSet(paths...).ToJSON()
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func texts(paths []field.Path) []string {
	var out []string
	for _, p := range paths {
		out = append(out, field.PathString(p))
	}
	slices.Sort(out)
	return out
}

func sample(t *rapid.T, all []field.Path, label string) []field.Path {
	var out []field.Path
	for i, p := range all {
		if rapid.Bool().Draw(t, fmt.Sprint(label, i)) {
			out = append(out, p)
		}
	}
	return out
}
