package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// moved checks that objects bear another app's mark, and are the ones that they were before.
func (w *world) moved(before map[string]types.UID, mark string) {
	w.t.Helper()
	for name, uid := range before {
		w.until(name+" to be "+mark+"'s", func() bool {
			o := w.get(configmaps, name)
			return o != nil && o.GetLabels()["truce.dev/part-of"] == mark
		})
		if now := w.get(configmaps, name).GetUID(); now != uid {
			w.t.Errorf("%s was made again", name)
		}
	}
	if got := w.deletes(); len(got) > 0 {
		w.t.Errorf("deleted %v", got)
	}
}

func (w *world) uids(names []string) map[string]types.UID {
	w.t.Helper()
	out := map[string]types.UID{}
	for _, name := range names {
		out[name] = w.get(configmaps, name).GetUID()
	}
	return out
}

// handing moves objects from the app one of the world's repository to another app of another repository. Both are pushed at once, and truce is
// notified of the first push alone: the other repository is on a server, and is not due for a look.
func handing(w *world, other *gittest.Repo, mark string) {
	w.t.Helper()
	names := strings.Fields("a b c d e f g h")
	before := w.uids(names)
	there := w.inNamespace(gittest.Files(configMaps("two", names...)))
	w.repo.Remove(manifests("one", names)...)
	other.Commit(there, "take")
	w.moved(before, mark)
	w.ready("one")
}

const twoHomes = "-- one/stay.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: stay-one, namespace: NAMESPACE}}\n"

// otherRepo is a repository with an object that stays in the directory two.
func (w *world) otherRepo() *gittest.Repo {
	w.t.Helper()
	return gittest.NewTxtar(w.t, strings.ReplaceAll(strings.ReplaceAll(twoHomes, "one", "two"), "NAMESPACE", w.ns))
}

// TestAnObjectThatMovesToAnAppOfAnotherRepositoryIsNotDeleted, although its old home is pushed first, and neither names it for a moment.
func TestAnObjectThatMovesToAnAppOfAnotherRepositoryIsNotDeleted(t *testing.T) {
	w := newWorld(t, policy.Policy{}, twoHomes+configMaps("one", strings.Fields("a b c d e f g h")...))
	other := w.otherRepo()
	w.source("other", "url: "+gittest.ServeHTTP(t, other, gittest.HTTPOptions{}).URL+"\ninterval: 1h\nref: {branch: main}")
	w.app("one", "./one", defaultSpec)
	w.kustomization("two", "other", "path: ./two\nprune: true\ninterval: 1h")
	w.ready("one")
	w.condition("two", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
	handing(w, other, w.ns+".two")
}

// TestAnObjectThatMovesToAnAppOfTheOtherDialectIsNotDeleted: the same, with an Application of another repository.
func TestAnObjectThatMovesToAnAppOfTheOtherDialectIsNotDeleted(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, twoHomes+configMaps("one", strings.Fields("a b c d e f g h")...))
	other := w.otherRepo()
	w.app("one", "./one", defaultSpec)
	server := gittest.ServeHTTP(t, other, gittest.HTTPOptions{})
	w.Apply(t, strings.ReplaceAll(w.applicationText("two", "two", automated), "file://"+w.repo.Dir, server.URL))
	w.t.Cleanup(w.removeApps)
	w.ready("one")
	w.until("two to be applied", func() bool { return w.isThere(configmaps, "stay-two") })
	handing(w, other, w.get(configmaps, "stay-two").GetLabels()["truce.dev/part-of"])
}

// TestAnAppThatIsRenamedInGitKeepsItsObjects: the parent that describes it makes the new one and deletes the old one in one commit.
func TestAnAppThatIsRenamedInGitKeepsItsObjects(t *testing.T) {
	child := func(name string) string {
		return fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: NAMESPACE}
spec: {interval: 1h, path: ./objects, prune: true, sourceRef: {kind: GitRepository, name: repo}}
`, name)
	}
	names := strings.Fields("a b c d e f g h")
	w := newWorld(t, policy.Policy{}, "-- apps/child.yaml --"+child("old")+"-- apps/stay.yaml --\n"+configMap("stay")+configMaps("objects", names...))
	w.app("parent", "./apps", defaultSpec)
	w.ready("parent")
	w.ready("old")
	before := w.uids(names)
	w.repo.Commit(w.inNamespace(map[string]string{"apps/child.yaml": child("new")}), "rename the app")
	for name, uid := range before {
		w.until(name+" to be the new app's", func() bool {
			o := w.get(configmaps, name)
			return o != nil && o.GetLabels()["truce.dev/part-of"] == w.ns+".new"
		})
		if w.get(configmaps, name).GetUID() != uid {
			t.Errorf("%s was made again", name)
		}
	}
	w.ready("parent")
	w.ready("new")
	if got := w.deletes(); slices.ContainsFunc(got, func(d string) bool { return strings.HasPrefix(d, "configmaps") }) {
		t.Errorf("deleted %v", got)
	}
}
