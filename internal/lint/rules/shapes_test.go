package rules_test

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// What Git holds was never validated: a list may stand where a text belongs, and nothing where a map does.
func TestObjectsOfWhateverShapeAreJudged(t *testing.T) {
	all := everything(t)
	severities := map[string]rules.Severity{}
	for _, r := range rules.AllRules() {
		severities[r.ID] = r.Severity
	}
	for seed := range uint64(8) {
		for _, f := range rules.CheckAll(spoilt(all, rand.New(rand.NewPCG(seed, 1)))) {
			if severities[f.Rule] == "" || f.Severity == "" || f.Message == "" || strings.Contains(f.Message, "%!") {
				t.Errorf("seed %d: %+v", seed, f)
			}
		}
	}
}

// everything are the objects of all stories.
func everything(t *testing.T) []object.Object {
	t.Helper()
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no stories", err)
	}
	var out []object.Object
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range a.Files {
			all, _ := render.Manifests(file.Name, file.Data) // patches are none
			for _, o := range all {
				out = append(out, o.Data)
			}
		}
	}
	return out
}

// spoilt is a survey of one root and of the apps among the objects, each of which describes some of them, with values in wrong places.
func spoilt(all []object.Object, r *rand.Rand) discover.Discovery {
	s := discover.Discovery{Files: fstest.MapFS{}, Units: []discover.Unit{{Dialect: discover.Bare, File: "."}}}
	for _, o := range all {
		o = object.Object(spoil(map[string]any(o), r).(map[string]any))
		if u, ok := unitOf(render.Object{Data: o, File: "all.yaml", Line: 1}); ok {
			s.Units = append(s.Units, u)
			continue
		}
		u := &s.Units[r.IntN(len(s.Units))]
		u.Objects = append(u.Objects, desired.Object{ID: o.ID(), GVK: o.GVK(), Data: o, File: "all.yaml", Line: 1})
	}
	return s
}

func spoil(v any, r *rand.Rand) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out[k] = spoil(v[k], r)
			if r.IntN(12) == 0 && k != "kind" && k != "apiVersion" {
				out[k] = []any{nil, "x", "", int64(-1), int64(0), 1.5, true, []any{}, []any{nil, "a", map[string]any{}}, map[string]any{}, map[string]any{"name": int64(1)}}[r.IntN(11)]
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = spoil(v[i], r)
		}
		return out
	}
	return v
}
