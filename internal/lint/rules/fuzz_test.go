package rules_test

import (
	"path/filepath"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
)

// FuzzJudge: whatever objects a file describes, each rule comes to an end with findings that say what and where.
func FuzzJudge(f *testing.F) {
	stories, err := filepath.Glob("testdata/*/bad.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range stories {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			if filepath.Ext(file.Name) == ".yaml" {
				f.Add(file.Data, []byte("kind: x"))
			}
		}
	}
	f.Add([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: [a]}\nspec: {ports: [[], {name: {}}, 1], selector: {a: 1}}\n"), []byte("apiVersion: v1"))
	f.Fuzz(func(t *testing.T, now, was []byte) {
		s := alone(now)
		for _, found := range rules.CheckAgainst(alone(was), s) {
			if found.Rule == "" || found.Severity == "" || found.Message == "" || found.Remedy == "" || !found.Place.Known() {
				t.Errorf("says too little: %+v", found)
			}
		}
	})
}

// alone is a repository of one file.
func alone(text []byte) discover.Discovery {
	files := fstest.MapFS{"a.yaml": {Data: text}}
	s := discover.Discovery{Files: files}
	objects, err := render.Manifests("a.yaml", text)
	if err != nil {
		return s
	}
	set, err := desired.NormalizeUnmarked(objects, "", func(object.GVK) desired.Scope { return desired.Namespaced })
	if err != nil {
		return s
	}
	s.Units = []discover.Unit{{Dialect: discover.Bare, App: app.App{Key: app.Key{Name: "."}, Path: "."}, File: ".", Objects: set.Objects, Reads: []string{"a.yaml"}}}
	return s
}
