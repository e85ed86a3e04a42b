package rules_test

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/lint/rules"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/ignore"
	"github.com/truce-gitops/truce/internal/model/ignore/jq"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/render/kustomize"
	"github.com/truce-gitops/truce/internal/render/plain"
	"github.com/truce-gitops/truce/internal/testing/given"
	"github.com/truce-gitops/truce/internal/testing/golden"
)

// unitsOf are the apps of a story, by the custom resources in its files, and the directories that its section "roots" lists; nil for neither.
func unitsOf(t *testing.T, files given.Tree, in golden.Files) []discover.Unit {
	t.Helper()
	var out []discover.Unit
	for name, text := range in {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		all, err := render.Manifests(name, []byte(text))
		if err != nil {
			continue // a patch
		}
		for _, o := range all {
			if u, ok := unitOf(o); ok {
				out = append(out, u)
			}
		}
	}
	for root := range strings.FieldsSeq(in["roots"]) {
		file, err := render.KustomizationFile(files, root)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, discover.Unit{
			Dialect: discover.Bare, App: app.App{Key: app.Key{Name: root}, Path: root}, File: cmp.Or(file, root), Line: min(len(file), 1),
		})
	}
	slices.SortFunc(out, func(a, b discover.Unit) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) })
	for i := range out {
		rendered(t, files, &out[i])
	}
	return out
}

func unitOf(o render.Object) (discover.Unit, bool) {
	u := discover.Unit{Resource: o.Data, File: o.File, Line: o.Line}
	switch gvk := o.Data.GVK(); {
	case gvk.Group == "kustomize.toolkit.fluxcd.io":
		u.Dialect, u.App = discover.Flux, flux.Kustomizations{}.App(o.Data, policy.Policy{})
	case gvk.Group == "argoproj.io" && gvk.Kind == "Application":
		u.Dialect, u.App = discover.ArgoCD, argocd.Applications{}.App(o.Data, policy.Policy{})
	default:
		return u, false
	}
	return u, true
}

// seen notes the files that are read.
type seen struct {
	given.Tree
	names map[string]bool
}

func (s seen) Open(name string) (fs.File, error) {
	s.names[name] = true
	return s.Tree.Open(name)
}

func (s seen) ReadFile(name string) ([]byte, error) {
	s.names[name] = true
	return s.Tree.ReadFile(name)
}

func rendered(t *testing.T, files given.Tree, u *discover.Unit) {
	t.Helper()
	read := seen{files, map[string]bool{}}
	r, err := (&kustomize.Renderer{Plain: plain.Renderer{}}).Render(t.Context(), render.Request{
		Files: read, Path: u.App.Path, Namespace: u.App.Namespace, Overlay: u.App.Overlay,
	})
	if u.Err = err; err != nil {
		return
	}
	of := app.App{Key: u.App.Key, Namespace: u.App.Namespace, DefaultNamespace: u.App.DefaultNamespace, Policy: policy.Policy{Mode: policy.Observe}}
	of.DefaultNamespace.Name = cmp.Or(of.DefaultNamespace.Name, "default")
	set, err := desired.Normalize(r.Objects, of, func(g object.GVK) desired.Scope {
		return cmp.Or(scopes[g.Kind], map[bool]desired.Scope{true: desired.Namespaced, false: desired.Unserved}[desired.IsBuiltInGroup(g.Group)])
	})
	if err != nil {
		t.Fatal(err)
	}
	u.Objects = unmended(set.Objects, r.Objects)
	answered(t, u)
	for name := range read.names {
		if f, there := files.MapFS[name]; there && f != nil {
			u.Reads = append(u.Reads, name)
		}
	}
	slices.Sort(u.Reads)
}

func TestARuleThatOneAppOfASetNeedsIsNoFinding(t *testing.T) {
	app := `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: argocd}
spec:
  project: default
  source: {repoURL: 'https://git.example.org/shop.git', path: %s}
  destination: {server: 'https://kubernetes.default.svc', namespace: shop}
  ignoreDifferences:
  - {kind: Service, jsonPointers: [/spec/clusterIP]}
`
	s := surveyed(t.Context(), t, golden.Files{
		"a.yaml": fmt.Sprintf(app, "a", "a"), "b.yaml": fmt.Sprintf(app, "b", "b"),
		"b/all.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "a/all.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 80}]}\n",
	})
	const rule = "ignore-matches-nothing"
	if got := of(rule, rules.CheckAll(s)); len(got) != 1 {
		t.Errorf("of two apps: %s", printFindings(got))
	}
	for i := range s.Units {
		s.Units[i].File, s.Units[i].Line = "set.yaml", 1
	}
	if got := of(rule, rules.CheckAll(s)); len(got) != 0 {
		t.Errorf("of a set: %s", printFindings(got))
	}
}

// answered runs the jq expressions of the unit's rules, in this process.
func answered(t *testing.T, u *discover.Unit) {
	t.Helper()
	e := &jq.Evaluator{
		Worker: func(ctx context.Context, input []byte, _ jq.Limits) ([]byte, error) {
			return jq.AnswerRequest(ctx, input)
		},
	}
	u.Answers = map[object.ID]map[string]ignore.Answer{}
	for _, o := range u.Objects {
		asked := u.App.Ignore.Queries(o.Data)
		if len(asked) == 0 {
			continue
		}
		var err error
		if u.Answers[o.ID], err = e.Select(t.Context(), asked, o.Data, nil); err != nil {
			t.Fatal(err)
		}
	}
}
