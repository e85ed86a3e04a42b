package stories

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

const remoteConfigMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {k: %s}\n"

// An app's kustomization names a git repository and a single file by their addresses. Both are followed; a server that fails is the error of
// that app alone, and nothing is pruned then although a commit removes something.
func TestWhatAKustomizationNamesByItsAddress(t *testing.T) {
	base := gittest.New(t, map[string]string{"deploy/kustomization.yaml": "resources: [one.yaml]\n", "deploy/one.yaml": fmt.Sprintf(remoteConfigMap, "one", "first")})
	git := gittest.ServeHTTP(t, base, gittest.HTTPOptions{})
	var down atomic.Bool
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		fmt.Fprintf(w, remoteConfigMap, "two", "first")
	}))
	t.Cleanup(web.Close)
	own := strings.ReplaceAll(configMaps("own", "kept", "gone")+configMaps("other", "other"), "-- own/", "-- app/")
	w := offWorld(t, own+"\n-- app/kustomization.yaml --\nnamespace: NAMESPACE\nresources: [kept.yaml, gone.yaml, '"+git.URL+"//deploy?ref=main', '"+web.URL+"/two.yaml']\n")
	w.run(compose.RunOptions{Settings: controller.Settings{Remotes: upstream.Hosts{Listed: []string{"http://127.0.0.1"}}}})
	w.app("app", "app", defaultSpec)
	w.app("other", "other", defaultSpec)
	w.ready("app")
	w.says("app", git.URL+"?ref=main is not pinned", web.URL+"/two.yaml is not pinned")

	ask := func(token string) { w.annotate(kustomizations, "app", "reconcile.fluxcd.io/requestedAt", token) }
	one := w.Watch(t, configmaps, w.ns, "one")
	base.Commit(map[string]string{"deploy/one.yaml": fmt.Sprintf(remoteConfigMap, "one", "second")}, "second")
	ask("the second")
	w.await(one, func(o *unstructured.Unstructured) bool { return value(o, "k") == "second" })

	down.Store(true)
	ask("while it fails")
	refused := web.URL + "/two.yaml: get " + web.URL + "/two.yaml: the server answers 502 Bad Gateway"
	w.fails("app", refused)
	w.edit("app/kustomization.yaml", "gone.yaml, ", "")
	w.ready("other")
	ask("at the commit")
	w.condition("app", "Ready", func(c map[string]any, o *unstructured.Unstructured) bool {
		tried, _, _ := unstructured.NestedString(o.Object, "status", "lastAttemptedRevision")
		return c["status"] == "False" && strings.HasSuffix(tried, w.repo.Head()) && contains(c["message"], refused)
	})
	for _, name := range []string{"kept", "gone", "one", "two"} {
		if !w.isThere(configmaps, name) {
			t.Errorf("%s was pruned while a server failed", name)
		}
	}
	down.Store(false)
	ask("again")
	w.ready("app")
	w.goes(configmaps, "gone")
}
