package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/view"
)

// requestedRuns keeps what is requested.
type requestedRuns struct {
	*syncedApp
	runs []dialect.Run
}

func (r *requestedRuns) RequestRun(_ context.Context, q view.Request) (string, error) {
	r.runs = append(r.runs, q.Run)
	return "now", nil
}

// TestASyncMayBeAboutAllOthers: argocd's forms with ! and *.
func TestASyncMayBeAboutAllOthers(t *testing.T) {
	web := &requestedRuns{syncedApp: &syncedApp{AppReader: someApps{keys: []app.Key{webKey}}, key: webKey}}
	env := Environment{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Program: "truce", Getenv: func(string) string { return "" }}
	env.Args = []string{
		"app", "sync", webKey.Name, "-n", webKey.Namespace, "--async",
		"--resource", "*:Service:*", "--resource", "!apps:Deployment:web", "--resource", "!:ConfigMap:shop/web",
	}
	code := Execute(t.Context(), env, Backend{Clusters: answers{Cluster{AppReader: web, AppEditor: web, Resources: someResources{}}}})
	if code != 0 || len(web.runs) != 1 {
		t.Fatalf("exit code %d, %d runs: %s", code, len(web.runs), env.Err)
	}
	got := web.runs[0]
	want := dialect.Run{
		By: got.By, Resources: []object.ID{{Group: "*", Kind: "Service", Name: "*"}},
		Except: []object.ID{{Group: "apps", Kind: "Deployment", Name: "web"}, {Kind: "ConfigMap", Namespace: "shop", Name: "web"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
