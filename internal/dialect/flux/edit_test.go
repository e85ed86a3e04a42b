package flux_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/overlay"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/given"
)

const editedKustomization = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: web, namespace: flux-system}
spec: {interval: 10m, path: ./app, prune: true, sourceRef: {kind: GitRepository, name: demo}, futureField: {kept: yes}}
`

const editedSource = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: demo, namespace: flux-system}
spec: {interval: 1m, url: https://git.example/demo, ref: {branch: main}}
`

func ptr[T any](v T) *T { return &v }

var replicas = dialect.Difference{Group: "apps", Kind: "Deploy*", Name: "web.1", JSONPointers: []string{"/spec/replicas"}}

func TestAnEditSaysWhatItIsAskedAndNoMore(t *testing.T) {
	for name, c := range map[string]struct {
		commands flux.Commands
		change   dialect.Change
		spec     string // of the Kustomization, beside what it had
		meta     string
		source   string // of the GitRepository
	}{
		"a rule": {
			change: dialect.Change{Ignore: []dialect.Difference{replicas, replicas}},
			spec:   `{ignoreDifferences: [{target: {group: apps, kind: Deploy.*, name: web\.1}, jsonPatches: [{op: remove, path: /spec/replicas}]}]}`,
		},
		"a rule by a shell pattern": {
			change: dialect.Change{Ignore: []dialect.Difference{{Kind: "{Deployment,[R-S]*Set}", JSONPointers: []string{"/spec/replicas"}}}},
			spec:   `{ignoreDifferences: [{target: {kind: "(?:Deployment|[R-S].*Set)"}, jsonPatches: [{op: remove, path: /spec/replicas}]}]}`,
		},
		"a rule where the CRD drops the field": {
			commands: flux.Commands{Dropped: []string{"spec.ignoreDifferences"}},
			change:   dialect.Change{Ignore: []dialect.Difference{{Kind: "Deployment", JSONPointers: []string{"/spec/replicas"}}}},
			meta:     `{annotations: {truce.dev/ignore-differences: '[{"jsonPatches":[{"op":"remove","path":"/spec/replicas"}],"target":{"kind":"Deployment"}}]'}}`,
		},
		"path, namespace, prune, retry": {
			change: dialect.Change{Path: ptr("./other"), Namespace: ptr("shop"), Prune: ptr(false)},
			spec:   `{path: ./other, targetNamespace: shop, prune: false}`,
		},
		"what is laid over the files": {
			change: dialect.Change{Overlay: overlay.Change{
				NamePrefix: ptr("my-"), Namespace: ptr("shop"), Optional: ptr(true), Images: []overlay.Image{{Name: "web", NewTag: ptr("1")}, {Name: "web", NewTag: ptr("2")}},
			}},
			spec: `{namePrefix: my-, targetNamespace: shop, ignoreMissingComponents: true, images: [{name: web, newTag: "2"}]}`,
		},
		"self-heal":                          {change: dialect.Change{SelfHeal: ptr(false)}, spec: `{remediation: {remediate: false}}`},
		"self-heal where the CRD drops it":   {commands: flux.Commands{Dropped: []string{"spec.remediation.remediate"}}, change: dialect.Change{SelfHeal: ptr(true)}, meta: `{annotations: {truce.dev/remediation: "true"}}`},
		"suspend":                            {change: dialect.Change{Suspend: ptr(true)}, spec: `{suspend: true}`},
		"manual":                             {change: dialect.Change{Policy: dialect.Manual}, spec: `{suspend: true}`},
		"automated":                          {change: dialect.Change{Policy: dialect.Automated}},
		"a branch":                           {change: dialect.Change{Revision: ptr("next")}, source: `{ref: {branch: next}}`},
		"a tag":                              {change: dialect.Change{Revision: ptr("v1.2.3")}, source: `{ref: {tag: v1.2.3}}`},
		"a range of versions":                {change: dialect.Change{Revision: ptr(">=1.0")}, source: `{ref: {semver: ">=1.0"}}`},
		"a reference":                        {change: dialect.Change{Revision: ptr("refs/pull/1/head")}, source: `{ref: {name: refs/pull/1/head}}`},
		"a commit":                           {change: dialect.Change{Revision: ptr(strings.Repeat("a", 40))}, source: `{ref: {commit: ` + strings.Repeat("a", 40) + `}}`},
		"a repository":                       {change: dialect.Change{Repo: ptr("ssh://git.example/x")}, source: `{url: ssh://git.example/x}`},
		"a pin":                              {change: dialect.Change{Pin: ptr("abc")}, meta: `{annotations: {truce.dev/revision: abc}}`},
		"no pin":                             {change: dialect.Change{Pin: ptr("")}},
		"a request to prune, which it does":  {change: dialect.Change{Run: &dialect.Run{Token: "now", Prune: ptr(true)}}, meta: `{annotations: {reconcile.fluxcd.io/requestedAt: now}}`},
		"a forced request":                   {change: dialect.Change{Run: &dialect.Run{Token: "now", Force: true, Reset: true}}, meta: `{annotations: {reconcile.fluxcd.io/requestedAt: now, reconcile.fluxcd.io/forceAt: now, reconcile.fluxcd.io/resetAt: now}}`},
		"a request":                          {change: dialect.Change{Run: &dialect.Run{Token: "now"}}, meta: `{annotations: {reconcile.fluxcd.io/requestedAt: now}}`},
		"an end that leaves":                 {change: dialect.Change{Leave: policy.PruneKeep}, spec: `{deletionPolicy: Orphan}`},
		"an end that takes all with it":      {change: dialect.Change{Leave: policy.PruneDelete}},
		"an end against the pruning of Git":  {change: dialect.Change{Prune: ptr(false), Leave: policy.PruneDelete}, spec: `{prune: false, deletionPolicy: Delete}`},
		"the namespace is taken away":        {change: dialect.Change{Namespace: ptr("")}},
		"a rule is added and taken away":     {change: dialect.Change{Unset: []string{"sync-policy"}}},
		"a change of nothing leaves nothing": {},
		"a branch of a version": {
			change: dialect.Change{Revision: ptr("release-1.x")}, source: `{ref: {branch: release-1.x}}`,
		},
		"a branch with a file's name": {
			change: dialect.Change{Revision: ptr("fix.xml")}, source: `{ref: {branch: fix.xml}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := given.Object(t, editedKustomization)
			got, err := c.commands.Edit(dialect.Resources{App: before, Source: given.Object(t, editedSource)}, c.change)
			if err != nil {
				t.Fatal(err)
			}
			want := dialect.Resources{App: given.Object(t, editedKustomization), Source: given.Object(t, editedSource)}
			lay(t, want.App["spec"], c.spec)
			lay(t, want.App["metadata"], c.meta)
			lay(t, want.Source["spec"], c.source)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(given.Object(t, editedKustomization), before); diff != "" {
				t.Errorf("what was given was changed:\n%s", diff)
			}
		})
	}
}

// lay sets the fields that a text names.
func lay(t *testing.T, onto any, text string) {
	t.Helper()
	m, _ := onto.(map[string]any)
	for k, v := range given.Object(t, text) {
		m[k] = v
	}
}

func TestARuleIsTakenAwayByItsPlaceOrByWhatItSays(t *testing.T) {
	other := dialect.Difference{Kind: "Service", JSONPointers: []string{"/spec/type"}}
	for name, commands := range map[string]flux.Commands{"in the spec": {}, "in the annotation": {Dropped: []string{"spec.ignoreDifferences"}}} {
		t.Run(name, func(t *testing.T) {
			r := dialect.Resources{App: given.Object(t, editedKustomization)}
			edit := func(c dialect.Change) {
				t.Helper()
				var err error
				if r, err = commands.Edit(r, c); err != nil {
					t.Fatal(err)
				}
			}
			edit(dialect.Change{Ignore: []dialect.Difference{replicas, other}})
			if n := len((flux.Kustomizations{}).App(r.App, policy.Policy{}).Ignore); n != 2 {
				t.Errorf("%d rules, want 2", n)
			}
			edit(dialect.Change{UnignoreAt: []int{0}})
			if _, err := commands.Edit(r, dialect.Change{Unignore: []dialect.Difference{replicas}}); err == nil || !strings.Contains(err.Error(), `there are 0: {"jsonPatches"`) {
				t.Errorf("a rule that is gone is taken away again: %v", err)
			}
			edit(dialect.Change{Unignore: []dialect.Difference{other}})
			if diff := cmp.Diff(given.Object(t, editedKustomization), r.App); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEditThatTheDialectHasNoFieldForIsRefused(t *testing.T) {
	for want, c := range map[string]dialect.Change{
		"--project":           {Project: ptr("x")},
		"--dest-server":       {Server: ptr("https://elsewhere")},
		"--sync-option":       {Options: []string{"Prune=false"}},
		"--allow-empty":       {Empty: ptr(true)},
		"jsonPointers":        {Ignore: []dialect.Difference{{Kind: "X", JQPathExpressions: []string{".spec"}}}},
		"has no rule 3":       {UnignoreAt: []int{3}},
		"by --nonsense":       {Unset: []string{"nonsense"}},
		"app rollback":        {Run: &dialect.Run{Revision: "x"}},
		"--auto-prune=false":  {Run: &dialect.Run{Prune: ptr(false)}}, // it has spec.prune: true
		"is no GitRepository": {Revision: ptr("main")},
	} {
		if _, err := (flux.Commands{}).Edit(dialect.Resources{App: given.Object(t, editedKustomization)}, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestWhatIsCreatedIsAnAppWithoutProblems(t *testing.T) {
	key := app.Key{Kind: "Kustomization", Namespace: "shop", Name: "web"}
	if _, err := (flux.Commands{}).Create(key, dialect.Change{Path: ptr("x")}); err == nil || err.Error() != "--repo is required" {
		t.Errorf("no repository: %v", err)
	}
	r, err := flux.Commands{}.Create(key, dialect.Change{Repo: ptr("https://git.example/demo"), Path: ptr("app"), Ignore: []dialect.Difference{replicas}})
	if err != nil {
		t.Fatal(err)
	}
	a, s := flux.Kustomizations{}.App(r.App, policy.Policy{}), flux.GitRepositories{}.Source(r.Source)
	if len(a.Problems)+len(s.Problems)+len(a.Notes)+len(s.Notes) > 0 {
		t.Errorf("%v %v %v %v", a.Problems, a.Notes, s.Problems, s.Notes)
	}
	if a.Source != s.Key || a.Key != key {
		t.Errorf("%v reads %v, want %v", a.Key, a.Source, s.Key)
	}
}

func TestAnEntryOfTheInventoryIsReadAsFluxWritesIt(t *testing.T) {
	cr := given.Object(t, editedKustomization)
	cr["status"] = map[string]any{"inventory": map[string]any{"entries": []any{
		map[string]any{"id": "shop_web_apps_Deployment", "v": "v1"}, map[string]any{"id": "_system__node_rbac.authorization.k8s.io_ClusterRole", "v": "v1"},
		map[string]any{"id": "nonsense", "v": "v1"},
	}}}
	want := []dialect.ListedObject{
		{ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Version: "v1"},
		{ID: object.ID{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:node"}, Version: "v1"},
	}
	if diff := cmp.Diff(want, flux.Commands{}.Summarize(cr).Objects); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheStatusSaysWhatIsContested(t *testing.T) {
	for status, want := range map[string]string{"True": "evidence", "False": ""} {
		cr := object.Object{"status": map[string]any{"conditions": []any{map[string]any{"type": "Contested", "status": status, "message": "evidence"}}}}
		if got := (flux.Commands{}).Summarize(cr).Contested; got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
}

func FuzzEdit(f *testing.F) {
	f.Add(editedKustomization, "/spec/replicas", "apps", "main", 0)
	f.Add("spec: {ignoreDifferences: x, remediation: 1, sourceRef: []}\nmetadata: {annotations: 3}", "x", "[", ">=1", 9)
	f.Fuzz(func(t *testing.T, cr, pointer, group, revision string, at int) {
		var o object.Object
		if yaml.Unmarshal([]byte(cr), &o) != nil || o == nil {
			return
		}
		c := dialect.Change{
			Revision: &revision, SelfHeal: ptr(true), Namespace: &group, UnignoreAt: []int{at}, Pin: &revision,
			Ignore: []dialect.Difference{{Group: group, Kind: "Deployment", JSONPointers: []string{pointer}}},
		}
		for _, commands := range []flux.Commands{{}, {Dropped: []string{"spec.ignoreDifferences", "spec.remediation"}}} {
			_, _ = commands.Edit(dialect.Resources{App: o, Source: o}, c) // must not panic, whatever it says
			_ = commands.Summarize(o)
		}
	})
}

// TestAnAppBesideFluxStaysSuspended: its spec.suspend keeps Flux from it, whatever takes the field away.
func TestAnAppBesideFluxStaysSuspended(t *testing.T) {
	beside := given.Object(t, editedKustomization)
	lay(t, beside["metadata"], "{annotations: {truce.dev/adopted: beside}}")
	lay(t, beside["spec"], "{suspend: true}")
	for name, c := range map[string]dialect.Change{"unset": {Unset: []string{"sync-policy"}}, "set": {Policy: dialect.Automated}} {
		if got, err := (flux.Commands{}).Edit(dialect.Resources{App: beside}, c); err == nil || !strings.Contains(err.Error(), "spec.suspend is for Flux") {
			t.Errorf("%s: suspend %v, %v", name, got.App.At("spec", "suspend"), err)
		}
	}
}

// TestAHelmReleaseBesideFluxIsDeleted with its release, which it is suspended for anyway; to keep that, Flux has it back first.
func TestAHelmReleaseBesideFluxIsDeleted(t *testing.T) {
	beside := given.Object(t, `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web, namespace: apps, annotations: {truce.dev/adopted: beside}}, spec: {suspend: true}}`)
	got, err := (flux.HelmCommands{}).Edit(dialect.Resources{App: beside}, dialect.Change{Leave: policy.PruneDelete})
	if diff := cmp.Diff(beside, got.App); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := (flux.HelmCommands{}).Edit(dialect.Resources{App: beside}, dialect.Change{Leave: policy.PruneKeep}); err == nil || !strings.Contains(err.Error(), "truce release") || strings.Contains(err.Error(), "standstill") {
		t.Errorf("objects that stay: %v", err)
	}
}
