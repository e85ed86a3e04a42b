package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/decide"
	"github.com/truce-gitops/truce/internal/decide/compare"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/explain"
	"github.com/truce-gitops/truce/internal/view"
	"github.com/truce-gitops/truce/internal/view/resource"
)

// someLineage answers with one app of two objects, one of them an app itself, and with two Events.
type someLineage struct{ Lineage }

func (someLineage) Tree(context.Context, app.Key) (resource.Node, error) {
	kustomization := func(name string) object.ID {
		return object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "flux-system", Name: name}
	}
	inner := resource.Node{ID: kustomization("inner"), Children: []resource.Node{{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "web"}}}}
	return resource.Node{ID: kustomization("web"), Children: []resource.Node{inner, {ID: object.ID{Kind: "Namespace", Name: "shop"}}}}, nil
}

func (someLineage) Trace(_ context.Context, q explain.Question) (resource.Trace, error) {
	t := resource.Trace{ID: object.ID{Kind: q.Kind, Namespace: q.Namespace, Name: q.Name}}
	if q.Name == "lone" {
		return t, nil
	}
	all := printedResources()
	app, _ := resource.KindNamed("Kustomization")
	source, of := resource.ReadResource(resource.AllKinds()[0], all[0]), resource.ReadResource(app, all[1])
	t.App, t.Source, t.By, t.Makers = &of, &source, "truce", []object.ID{{Kind: "ReplicaSet", Name: "web-1"}, {Kind: "Deployment", Name: "web"}}
	return t, nil
}

func (someLineage) ListEvents(_ context.Context, q resource.EventQuery) ([]resource.Event, error) {
	now := time.Now()
	return []resource.Event{
		{ID: "a", About: app.Key{Kind: "GitRepository", Namespace: "x", Name: "repo"}, Type: "Normal", Reason: "NewArtifact", Message: "stored", At: now.Add(-time.Hour), Count: 1},
		{ID: "b", About: app.Key{Kind: "Kustomization", Namespace: "x", Name: "web"}, Type: "Warning", Reason: "BuildFailed", Message: "no\nkind", At: now.Add(-3 * time.Minute), First: now.Add(-5 * time.Minute), Count: 3},
	}, nil
}

func (someLineage) SourceKey(context.Context, app.Key) (app.Key, error) { return app.Key{}, nil }

// answered runs the program against what a test answers with.
func answered(t *testing.T, c Cluster, line string) (code int, out, errs string) {
	t.Helper()
	var b, e bytes.Buffer
	env := Environment{Out: &b, Err: &e, Program: "truce", Args: strings.Fields(line), Getenv: func(string) string { return "" }}
	code = Execute(t.Context(), env, Backend{Clusters: answers{c}})
	return code, b.String(), e.String()
}

func TestWhatBelongsToWhatIsPrintedAsFluxDoes(t *testing.T) {
	for line, want := range map[string]string{
		"tree ks web": `
Kustomization/flux-system/web
├── Kustomization/flux-system/inner
│   └── ConfigMap/shop/web
└── Namespace/shop
`,
		"tree kustomization/web --compact": `
Kustomization/flux-system/web
└── Kustomization/flux-system/inner
`,
		"tree ks web -o jsonpath={.objects[0].objects[0].name}": "\nweb",
		"trace Pod web-1 -n shop": `

Object:          Pod/web-1
Namespace:       shop
Owned by:        ReplicaSet/web-1, Deployment/web
Status:          Managed by truce
---
Kustomization:   web
Namespace:       flux-system
Path:            ./web
Revision:        main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
Status:          Not ready: BuildFailed; suspended by kubectl-edit, at the latest 10m ago
Message:         render ./web: web.yaml:3: no kind
---
GitRepository:   repo
Namespace:       flux-system
URL:             https://***@git.example.com/repo
Revision:        main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
Status:          Ready
Message:         stored artifact for revision 'main@sha1:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
`,
		"trace Pod/web-1 -o jsonpath={.managedBy},{.makers[1].kind},{.app.suspendedBy}": "\ntruce,Deployment,kubectl-edit",
		"events -n x": `
LAST SEEN         TYPE      REASON        OBJECT               MESSAGE
60m               Normal    NewArtifact   GitRepository/repo   stored
3m (x3 over 5m)   Warning   BuildFailed   Kustomization/web    no kind
`,
		"events -A --no-headers --types Warning -o jsonpath={.items[1].count}": "\n3",
	} {
		c := Cluster{Lineage: someLineage{}, Resources: someResources{all: printedResources()}}
		code, out, errs := answered(t, c, line)
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), out); code != 0 || diff != "" {
			t.Errorf("truce %s: exit code %d: %s (-want +got):\n%s", line, code, errs, diff)
		}
	}
	if code, _, errs := answered(t, Cluster{Lineage: someLineage{}}, "trace Pod/lone"); code != int(exit.Cluster) || !strings.Contains(errs, "no app keeps it") {
		t.Errorf("an object that no app keeps: exit code %d: %s", code, errs)
	}
}

// somePreview answers with one new object.
type somePreview struct {
	AppReader
	Previewer
}

var previewed = app.Key{Kind: "Kustomization", Namespace: "flux-system", Name: "web"}

func (somePreview) Names(context.Context, string) ([]app.Key, error) {
	return []app.Key{previewed}, nil
}

func (p somePreview) Inspect(ctx context.Context, k app.Key) (view.Detail, error) {
	d, err := p.Preview(ctx, k, view.Preview{})
	return d[0], err
}

func (somePreview) Preview(_ context.Context, k app.Key, p view.Preview) ([]view.Detail, error) {
	content := map[string]any{"kind": "ConfigMap", "data": map[string]any{"k": "v\x1b[2J"}}
	d := view.Detail{Preview: p, Origin: shopWeb().Origin, Leaving: []object.ID{{Kind: "Service", Namespace: "shop", Name: "old"}}}
	d.Report = report.Report{App: k, Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{{
		ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "new"}, File: "web.yaml", Line: 1,
		Findings: []report.Finding{{Kind: compare.Missing, Desired: content, Verdict: decide.Correct, Reason: "not in the cluster"}},
	}}}
	return []view.Detail{d}, nil
}

func TestAPreviewShowsNewObjectsWhole(t *testing.T) {
	const head = `ConfigMap shop/new  web.yaml:1
  not in the cluster
    Correct: not in the cluster
`
	const whole = `  + data:
  +   k: "v\e[2J"
  + kind: ConfigMap
`
	const tail = `Service shop/old
  no longer in Git: to be pruned
`
	for line, want := range map[string]string{
		"app diff web": head + tail, "app diff web --path x": head + whole + tail, "diff ks web --revision x": head + whole + tail,
		"app diff web --path x -o jsonpath={.objects[0].content.kind}{.prune[0].name}": "ConfigMapold", "app diff web -o jsonpath={.objects[0].content}": "",
	} {
		code, out, errs := answered(t, Cluster{AppReader: somePreview{}, Previewer: somePreview{}}, line)
		if diff := cmp.Diff(want, out); code != int(exit.Differs) || diff != "" {
			t.Errorf("truce %s: exit code %d: %s (-want +got):\n%s", line, code, errs, diff)
		}
	}
	for _, line := range []string{"app diff web other --path x", "app diff --all --path x", "app diff web --path x --revision y", "build ks web --path x --revision y", "diff ks", "build ks a b"} {
		if code, _, errs := answered(t, Cluster{AppReader: somePreview{}, Previewer: somePreview{}}, line); code != int(exit.Usage) {
			t.Errorf("truce %s: exit code %d: %s", line, code, errs)
		}
	}
}
