package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestASyncIntervalFindsCommitsThatNobodyTellsOf(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ source, app string }{
		"syncInterval of the Kustomization": {"1h", "interval: 1h\nsyncInterval: 1s"},
		"interval of the GitRepository":     {"1s", "interval: 1h"},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
			server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
			w.source("repo", "url: "+server.URL+"\ninterval: "+c.source+"\nref: {branch: main}")
			w.kustomization("app", "repo", "path: ./app\nprune: true\n"+c.app)
			w.ready("app")
			a := w.Watch(t, configmaps, w.ns, "a")
			for _, step := range [][2]string{{"a", "b"}, {"b", "c"}, {"c", "d"}} {
				w.edit("app/a.yaml", `"k":"`+step[0]+`"`, `"k":"`+step[1]+`"`)
				w.ready("app")
				w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == step[1] })
			}
		})
	}
}

func TestARetryIntervalTriesAgain(t *testing.T) {
	w := newWorld(t, policy.Policy{}, `
-- app/a.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NAMESPACE-later}}
`)
	w.app("app", "./app", "interval: 1h\nretryInterval: 1s")
	t.Log(w.fails("app", "app/a.yaml:1: ConfigMap "+w.ns+"-later/a", `"`+w.ns+`-later" not found`))
	w.Apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: "+w.ns+"-later}}")
	w.ready("app")
}
