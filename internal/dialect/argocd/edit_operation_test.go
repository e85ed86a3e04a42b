package argocd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// rolledBack is the Application after a rollback to an entry of its history.
func rolledBack(t *testing.T, spec, history string, id int64) (object.Object, error) {
	t.Helper()
	before := given.Object(t, `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: web, namespace: argocd}
spec: {`+spec+`, destination: {name: in-cluster, namespace: web}, syncPolicy: {automated: {}, retry: {limit: 3}}}
status: {history: [`+history+`]}
`)
	revision := "main" // as the command knows it
	r, err := argocd.Commands{}.Edit(dialect.Resources{App: before}, dialect.Change{Pin: &revision, Run: &dialect.Run{Token: "t", Revision: revision, Entry: &id}})
	return r.App, err
}

// TestARollbackGoesBackToTheEntry: as from the server of Argo CD, an operation has what the entry was synced from, and no hooks.
func TestARollbackGoesBackToTheEntry(t *testing.T) {
	const (
		images  = "source: {repoURL: https://git.example/web, path: web, targetRevision: v2, kustomize: {images: ['web:1'], replicas: [{name: web, count: 2}]}}"
		alone   = "sources: [{repoURL: https://git.example/a, path: a, targetRevision: main}]"
		several = "sources: [{repoURL: https://git.example/a, path: a, targetRevision: main}, {repoURL: https://git.example/b, path: b, targetRevision: v1}]"
	)
	for name, c := range map[string]struct {
		spec, history, want string
		revision            string
		revisions           []string
	}{
		"one source": {
			images, "{id: 0, revision: aaa, " + images + "}, {id: 1, revision: bbb, " + images + "}",
			"{revision: aaa, " + images + ", syncStrategy: {apply: {}}}", "aaa", nil,
		},
		"it followed another revision": {
			images, "{id: 0, revision: aaa, " + strings.Replace(images, "v2", "v1", 1) + "}",
			"{revision: aaa, " + strings.Replace(images, "v2", "v1", 1) + ", syncStrategy: {apply: {}}}", "aaa", nil,
		},
		"several sources": {
			several, "{id: 0, revisions: [aaa, bbb], " + several + "}, {id: 1, revisions: [ccc, ddd], " + several + "}",
			"{revisions: [aaa, bbb], " + several + ", syncStrategy: {apply: {}}}", "", []string{"aaa", "bbb"},
		},
		"one source in the list, with the empty one that Argo CD writes beside it": {
			alone, "{id: 0, revisions: [aaa], source: {repoURL: ''}, " + alone + "}",
			"{revisions: [aaa], " + alone + ", syncStrategy: {apply: {}}}", "aaa", nil,
		},
		"an entry without its source": {images, "{id: 0, revision: aaa}", "{revision: aaa, syncStrategy: {apply: {}}}", "aaa", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := rolledBack(t, c.spec, c.history, 0)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]any(given.Object(t, c.want)), got.At("operation", "sync")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if retry := got.At("operation", "retry"); retry != nil {
				t.Errorf("retry: %v", retry)
			}
			a := argocd.Applications{}.App(got, policy.Policy{})
			want := app.SyncRequest{Revision: c.revision, Revisions: c.revisions, Hooks: hook.SkipHooks}
			is := app.SyncRequest{Revision: a.SyncRequest.Revision, Revisions: a.SyncRequest.Revisions, Hooks: a.SyncRequest.Hooks, Refused: a.SyncRequest.Refused}
			if diff := cmp.Diff(want, is); diff != "" || a.Rollout != app.OnRequest {
				t.Errorf("rollout %s, it is read as (-want +got):\n%s", a.Rollout, diff)
			}
		})
	}
}

// TestARollbackThatASyncDoesNotBringBackIsRefused: truce syncs the files of another revision as the spec has its sources now.
func TestARollbackThatASyncDoesNotBringBackIsRefused(t *testing.T) {
	const web, values = "repoURL: https://git.example/web, path: web", "repoURL: https://git.example/values, ref: values"
	for name, c := range map[string]struct{ spec, history, want string }{
		"another image": {
			"source: {" + web + ", kustomize: {images: ['web:2']}}", "{id: 0, revision: aaa, source: {" + web + ", kustomize: {images: ['web:1']}}}",
			"ID 0 of the history was synced with another spec.source.kustomize;",
		},
		"other files": {
			"source: {" + web + "}", "{id: 0, revision: aaa, source: {repoURL: https://git.example/web, path: old, directory: {include: '*.yaml'}}}",
			"another spec.source.directory, spec.source.path;",
		},
		"another parameter of one of several": {
			"sources: [{" + values + "}, {" + web + ", helm: {parameters: [{name: a, value: '2'}]}}]",
			"{id: 0, revisions: [aaa, bbb], sources: [{" + values + "}, {" + web + ", helm: {parameters: [{name: a, value: '1'}]}}]}",
			"another spec.sources[1].helm;",
		},
		"another name for the files of values": {
			"sources: [{" + values + "}, {" + web + "}]", "{id: 0, revisions: [aaa, bbb], sources: [{repoURL: https://git.example/values, ref: old}, {" + web + "}]}",
			"another spec.sources[0].ref;",
		},
		"one source more": {
			"sources: [{" + values + "}, {" + web + "}]", "{id: 0, revision: aaa, source: {" + web + "}}",
			"another number of sources: 1, where the spec has 2;",
		},
		"an entry that is gone": {"source: {" + web + "}", "{id: 1, revision: aaa}", "status.history has no ID 0 any more"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := rolledBack(t, c.spec, c.history, 0); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

// TestASyncIsTriedAgainAsTheSpecSays: as from the server of Argo CD, an operation has the spec's retries.
func TestASyncIsTriedAgainAsTheSpecSays(t *testing.T) {
	for name, c := range map[string]struct {
		policy string
		retry  any
		tries  int64
	}{
		"retries":    {"{retry: {limit: 3, backoff: {duration: 10s}}}", map[string]any{"limit": int64(3), "backoff": map[string]any{"duration": "10s"}}, 3},
		"no retries": {"{automated: {}}", nil, 0},
	} {
		before := given.Object(t, strings.Replace(edited, "{automated: {prune: true, selfHeal: true}}", c.policy, 1))
		got, err := argocd.Commands{}.Edit(dialect.Resources{App: before}, dialect.Change{Run: &dialect.Run{Token: "t"}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.retry, got.App.At("operation", "retry")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		request := argocd.Applications{}.App(got.App, policy.Policy{}).SyncRequest
		if request.Retry > 0 != (c.retry != nil) || c.tries > 0 && request.Backoff.Limit != c.tries {
			t.Errorf("%s: tried again after %s, %d times", name, request.Retry, request.Backoff.Limit)
		}
	}
}
