package rules_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/field"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
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
			golden.Run(t, dir+"/*.txtar", func(t *testing.T, in golden.Files) string {
				return printFindings(of(filepath.Base(dir), judged(t, in)))
			})
		})
	}
}

func TestEveryRuleHasAStoryThatItFindsAndOneThatItDoesNot(t *testing.T) {
	for _, r := range rules.AllRules() {
		for name, found := range map[string]bool{"bad": true, "good": false} {
			path := filepath.Join("testdata", r.ID, name+".txtar")
			if got := slices.ContainsFunc(judged(t, story(t, path)), func(f rules.Finding) bool { return f.Rule == r.ID }); got != found {
				t.Errorf("%s: %s is found: %v", path, r.ID, got)
			}
		}
	}
}

// of leaves the findings of one rule.
func of(rule string, all []rules.Finding) []rules.Finding {
	return slices.DeleteFunc(all, func(f rules.Finding) bool { return f.Rule != rule })
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

func judged(t *testing.T, in golden.Files) []rules.Finding {
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
		s := surveyed(t.Context(), t, now)
		out := rules.CheckAll(s)
		if slices.ContainsFunc(s.Units, func(u discover.Unit) bool { return len(u.Shared) > 0 }) {
			t.Error("the check has changed what was discovered, which may be checked again")
		}
		return out
	}
	return rules.CheckAgainst(surveyed(t.Context(), t, was), surveyed(t.Context(), t, now))
}

// surveyed is the repository as one root, unless it has apps or names its roots.
func surveyed(ctx context.Context, t *testing.T, in golden.Files) discover.Discovery {
	t.Helper()
	files := given.FilesOf(in)
	reads := slices.Sorted(maps.Keys(in))
	if slices.ContainsFunc(reads, func(name string) bool { return filepath.Base(name) == "Chart.yaml" }) {
		return surveyedCharts(ctx, t, files)
	}
	if units := unitsOf(t, files, in); units != nil {
		return discover.Discovery{Files: files, Units: units}
	}
	r, err := (&kustomize.Renderer{}).Render(ctx, render.Request{Files: files, Path: "."})
	if err != nil {
		return surveyedWhole(ctx, t, files)
	}
	set, err := desired.NormalizeUnmarked(r.Objects, "", func(g object.GVK) desired.Scope { return scopes[g.Kind] })
	if err != nil {
		t.Fatal(err)
	}
	u := discover.Unit{Dialect: discover.Bare, App: app.App{Key: app.Key{Name: "."}, Path: "."}, File: ".", Objects: unmended(set.Objects, r.Objects), Reads: reads}
	return discover.Discovery{Files: files, Units: []discover.Unit{u}}
}

// surveyedWhole is the repository as truce audit looks at it: what cannot be read is left out.
func surveyedWhole(ctx context.Context, t *testing.T, files given.Tree) discover.Discovery {
	t.Helper()
	s, err := discover.FindApps(ctx, files, discover.Options{
		Kinds: []discover.Kind{
			{Dialect: discover.Flux, Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Apps: flux.Kustomizations{}},
			{Dialect: discover.ArgoCD, Group: "argoproj.io", Kind: "Application", Apps: argocd.Applications{}},
		},
		Render: &render.Cached{Renderer: &kustomize.Renderer{Plain: plain.Renderer{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unmended gives objects the data that was rendered, as a survey has it: what truce leaves out of what it applies is in it.
func unmended(settled []desired.Object, rendered []render.Object) []desired.Object {
	for i := range settled {
		o := &settled[i]
		at := slices.IndexFunc(rendered, func(r render.Object) bool {
			return r.File == o.File && r.Line == o.Line && r.Data.GVK() == o.GVK && r.Data.Name() == o.ID.Name
		})
		if at >= 0 {
			o.Data = rendered[at].Data
			o.Data.Metadata()["namespace"] = o.ID.Namespace
		}
	}
	return settled
}

var scopes = map[string]desired.Scope{
	"Namespace":   desired.ClusterWide,
	"ClusterRole": desired.ClusterWide, "MutatingWebhookConfiguration": desired.ClusterWide, "ValidatingWebhookConfiguration": desired.ClusterWide,
	"APIService": desired.ClusterWide, "CustomResourceDefinition": desired.ClusterWide,
}

func printFindings(all []rules.Finding) string {
	if len(all) == 0 {
		return "nothing is wrong"
	}
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s:%d %s %s\n", f.Place, f.Place.Column, f.Severity, f.Rule)
		fmt.Fprintf(&b, "  %s %s\n  %s\n", f.Object, field.PathString(f.Path), f.Message)
		for _, p := range f.Others {
			fmt.Fprintf(&b, "  see %s:%d\n", p, p.Column)
		}
		fmt.Fprintf(&b, "  do: %s\n", f.Remedy)
	}
	return b.String()
}
