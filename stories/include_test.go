package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// All intervals are an hour: what happens here is made by events.
func TestNewsOfAnIncludedRepositoryIsNewsOfTheOneThatIncludesIt(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
	shared := gittest.NewTxtar(t, strings.ReplaceAll(configMaps("deploy", "s", "gone"), "NAMESPACE", w.ns)+"-- elsewhere.yaml --\nnot: read\n")
	values := func(k string) string {
		return strings.NewReplacer("NAMESPACE", w.ns, `"k":"s"`, `"k":"`+k+`"`).Replace(configMap("s"))
	}
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1h\nref: {branch: main}\ninclude: [{repository: {name: shared}, fromPath: deploy, toPath: app/shared}]")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	w.sourceCondition("repo", "IncludeUnavailable", "True", "NotFound", "GitRepository "+w.ns+"/shared is not in the cluster")
	w.fails("app", "GitRepository "+w.ns+"/shared is not in the cluster")

	w.source("shared", "url: file://"+shared.Dir+"\ninterval: 1h\nref: {branch: main}")
	w.ready("app")
	w.sourceCondition("repo", "Ready", "True", "Succeeded", "")
	s := w.Watch(t, configmaps, w.ns, "s")
	shared.Commit(map[string]string{"deploy/s.yaml": values("newer")}, "newer")
	w.await(s, func(o *unstructured.Unstructured) bool { return value(o, "k") == "newer" })
	shared.Remove("deploy/gone.yaml")
	w.goes(configmaps, "gone")
	w.putBack(s, "s", "person", "newer")

	// A cycle is named, and what is there stays.
	w.patch(gitRepositories, "shared", map[string]any{"spec": map[string]any{"include": []any{map[string]any{"repository": map[string]any{"name": "repo"}}}}}, "person")
	w.sourceCondition("shared", "IncludeUnavailable", "True", "IncludeCycle", "GitRepository "+w.ns+"/shared includes GitRepository "+w.ns+"/repo includes GitRepository "+w.ns+"/shared")
	shared.Commit(map[string]string{"deploy/s.yaml": values("newest")}, "during the cycle")
	w.putBack(s, "s", "person again", "newer")
	w.patch(gitRepositories, "shared", map[string]any{"spec": map[string]any{"include": nil}}, "person")
	w.await(s, func(o *unstructured.Unstructured) bool { return value(o, "k") == "newest" })
	w.ready("app")

	// The same file twice is an error, and no file silently wins.
	w.repo.Commit(map[string]string{"app/shared/s.yaml": values("own")}, "at the same path")
	w.sourceCondition("repo", "IncludeUnavailable", "True", "CopyFailure", "app/shared/s.yaml is in the repository itself, and app/shared/s.yaml in GitRepository "+w.ns+"/shared")
	w.putBack(s, "s", "a third time", "newest")
}
