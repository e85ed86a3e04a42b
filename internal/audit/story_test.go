package audit_test

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"github.com/truce-gitops/truce/internal/app"
	"github.com/truce-gitops/truce/internal/audit"
	"github.com/truce-gitops/truce/internal/desired"
	"github.com/truce-gitops/truce/internal/field"
	"github.com/truce-gitops/truce/internal/golden"
	"github.com/truce-gitops/truce/internal/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/survey"
)

// TestStories judges small repositories: testdata/RULE/bad.txtar is what the rule is about, good.txtar what it leaves alone.
// Files below was/ are those of an earlier revision.
func TestStories(t *testing.T) {
	dirs, err := filepath.Glob("testdata/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			golden.Run(t, dir+"/*.txtar", func(t *testing.T, in golden.Files) string { return told(of(filepath.Base(dir), judged(t, in))) })
		})
	}
}

func TestEveryRuleHasAStoryThatItFindsAndOneThatItDoesNot(t *testing.T) {
	for _, r := range audit.Rules() {
		for name, found := range map[string]bool{"bad": true, "good": false} {
			path := filepath.Join("testdata", r.ID, name+".txtar")
			if got := slices.ContainsFunc(judged(t, story(t, path)), func(f audit.Finding) bool { return f.Rule == r.ID }); got != found {
				t.Errorf("%s: %s is found: %v", path, r.ID, got)
			}
		}
	}
}

// of leaves the findings of one rule.
func of(rule string, all []audit.Finding) []audit.Finding {
	return slices.DeleteFunc(all, func(f audit.Finding) bool { return f.Rule != rule })
}

func story(t *testing.T, path string) golden.Files {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := golden.Files{}
	for _, f := range archive.Files {
		if f.Name != "want" {
			in[f.Name] = string(f.Data)
		}
	}
	return in
}

// tree is a repository in memory.
type tree struct{ fstest.MapFS }

// Sum is not asked for without a cache.
func (tree) Sum(string) (string, error) { return "", fs.ErrInvalid }

func judged(t *testing.T, in golden.Files) []audit.Finding {
	t.Helper()
	was, now := golden.Files{}, golden.Files{}
	for name, text := range in {
		if before, ok := strings.CutPrefix(name, "was/"); ok {
			was[before] = text
		} else {
			now[name] = text
		}
	}
	if len(was) == 0 {
		return audit.Judge(surveyed(t.Context(), t, now))
	}
	return audit.Against(surveyed(t.Context(), t, was), surveyed(t.Context(), t, now))
}

// surveyed is the repository as one root, unless it has apps or names its roots.
func surveyed(ctx context.Context, t *testing.T, in golden.Files) survey.Survey {
	t.Helper()
	files := tree{fstest.MapFS{}}
	var reads []string
	for name, text := range in {
		files.MapFS[name] = &fstest.MapFile{Data: []byte(text)}
		reads = append(reads, name)
	}
	slices.Sort(reads)
	if units := unitsOf(t, files, in); units != nil {
		return survey.Survey{Files: files, Units: units}
	}
	r, err := (&kustomize.Renderer{}).Render(ctx, render.Request{Files: files, Path: "."})
	if err != nil {
		t.Fatal(err)
	}
	set, err := desired.Unmarked(r.Objects, "", func(g object.GVK) desired.Scope { return scopes[g.Kind] })
	if err != nil {
		t.Fatal(err)
	}
	u := survey.Unit{Dialect: survey.Bare, App: app.App{Key: app.Key{Name: "."}, Path: "."}, File: ".", Objects: set.Objects, Reads: reads}
	return survey.Survey{Files: files, Units: []survey.Unit{u}}
}

var scopes = map[string]desired.Scope{
	"Namespace":   desired.ClusterWide,
	"ClusterRole": desired.ClusterWide, "MutatingWebhookConfiguration": desired.ClusterWide, "ValidatingWebhookConfiguration": desired.ClusterWide,
	"APIService": desired.ClusterWide, "CustomResourceDefinition": desired.ClusterWide,
}

func told(all []audit.Finding) string {
	if len(all) == 0 {
		return "nothing is wrong"
	}
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s:%d %s %s\n", f.Place, f.Place.Column, f.Severity, f.Rule)
		fmt.Fprintf(&b, "  %s %s\n  %s\n", f.Object, field.String(f.Path), f.Message)
		for _, p := range f.Others {
			fmt.Fprintf(&b, "  see %s:%d\n", p, p.Column)
		}
		fmt.Fprintf(&b, "  do: %s\n", f.Remedy)
	}
	return b.String()
}
