package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A commit moves an object from one app to another. In no order of the two runs may it be deleted on the way.
func TestAnObjectThatMovesToAnotherAppIsNotDeleted(t *testing.T) {
	w := newWorld(t, policy.Policy{}, strings.ReplaceAll(document3, "apps/my-app/my-app.yaml", "apps/one/my-app.yaml")+`
-- apps/one/stay.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: stay-one, namespace: NAMESPACE}
-- apps/two/stay.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: stay-two, namespace: NAMESPACE}
`)
	w.app("one", "./apps/one", defaultSpec)
	w.app("two", "./apps/two", defaultSpec)
	w.ready("one")
	w.ready("two")
	d := w.Watch(t, deployments, w.ns, "my-app")
	before := d.Values()[0].Object
	for _, way := range [][2]string{{"one", "two"}, {"two", "one"}, {"one", "two"}} {
		w.repo.Move("apps/"+way[0]+"/my-app.yaml", "apps/"+way[1]+"/my-app.yaml")
		mark := w.ns + "." + way[1]
		w.await(d, func(o *unstructured.Unstructured) bool { return o.GetLabels()["truce.dev/part-of"] == mark })
		w.ready(way[0])
		w.ready(way[1])
	}
	for _, v := range d.Values() {
		if v.Object.GetUID() != before.GetUID() || v.Object.GetDeletionTimestamp() != nil || replicas(v.Object) != 3 {
			t.Errorf("the object was touched while it moved: %s at version %s", v.Event, v.Object.GetResourceVersion())
		}
	}
}

// Two apps of one name and two kinds are two apps: each has its own mark, and an object that moves from one to the other stays.
func TestAKustomizationAndAnApplicationOfOneNameAreTwo(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("one", "a", "moves")+configMaps("two", "b"))
	w.app("web", "./one", defaultSpec)
	w.application("web", "two", automated)
	w.ready("web")
	w.inSync("web")
	marks := map[string]string{"a": w.ns + ".web", "b": w.ns + ".web_Application"}
	for name, want := range marks {
		if mark := w.get(configmaps, name).GetLabels()["truce.dev/part-of"]; len(want) <= 63 && mark != want {
			t.Errorf("%s bears %q, want %q", name, mark, want)
		}
	}
	moves := w.Watch(t, configmaps, w.ns, "moves")
	before := moves.Values()[0].Object
	// Both name it first: they read the repository by themselves, and what one no longer names before the other does is gone from Git.
	w.repo.Commit(map[string]string{"two/moves.yaml": w.repo.Git("show", "HEAD:one/moves.yaml")}, "name it twice")
	t.Log(w.argoCondition("web", "SharedResourceWarning", "moves is named by Kustomization "+w.ns+"/web too"))
	w.repo.Remove("one/moves.yaml")
	w.await(moves, func(o *unstructured.Unstructured) bool {
		return o.GetLabels()["truce.dev/part-of"] != before.GetLabels()["truce.dev/part-of"]
	})
	w.ready("web")
	w.inSync("web")
	// The end of one is not the end of the other's objects, which have the same name in their marks.
	w.kubectl("delete", "kustomization.kustomize.toolkit.fluxcd.io/web", "--timeout="+patience.String())
	w.goes(configmaps, "a")
	if !w.isThere(configmaps, "b") || w.get(configmaps, "moves").GetUID() != before.GetUID() {
		t.Error("the Kustomization took the Application's objects along")
	}
	w.inSync("web")
}

// TestAnObjectStaysWithTheAppThatNamedItFirstAfterARestart also where that app cannot be rendered just then, and the other one can.
func TestAnObjectStaysWithTheAppThatNamedItFirstAfterARestart(t *testing.T) {
	w := offWorld(t, configMaps("one", "shared", "a")+"-- two/shared.yaml --\n"+strings.ReplaceAll(configMap("shared"), `"k":"shared"`, `"k":"two"`)+configMaps("two", "b"))
	stop := w.start(policy.Policy{})
	w.app("one", "./one", defaultSpec)
	w.ready("one")
	shared := w.Watch(t, configmaps, w.ns, "shared")
	w.app("two", "./two", defaultSpec)
	w.fails("two", "shared is named by Kustomization "+w.ns+"/one too")
	stop()
	w.repo.Commit(w.inNamespace(map[string]string{"one/broken.yaml": "kind: [", "two/c.yaml": configMap("c")}), "broken")
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.await(w.Watch(t, configmaps, w.ns, "c"), func(*unstructured.Unstructured) bool { return true })
	for _, v := range shared.Values() {
		if value(v.Object, "k") != "shared" {
			t.Fatalf("the other app has written over it: %v", v.Object.Object["data"])
		}
	}
	t.Log(w.fails("two", "shared is in the inventory of Kustomization "+w.ns+"/one"))
	w.repo.Remove("one/broken.yaml")
	w.ready("one")
	w.repo.Remove("one/shared.yaml")
	w.await(shared, func(o *unstructured.Unstructured) bool { return value(o, "k") == "two" })
	w.ready("two")
}

// TestAnObjectMovesToAnAppThatItsFormerOneDependsOn: the former one waits until that app is ready, which it is when it has the object. After a restart too.
func TestAnObjectMovesToAnAppThatItsFormerOneDependsOn(t *testing.T) {
	w := offWorld(t, configMaps("one", "moves", "later", "a")+configMaps("two", "b"))
	stop := w.start(policy.Policy{})
	w.app("two", "./two", defaultSpec)
	w.app("one", "./one", defaultSpec+"\ndependsOn: [{name: two}]")
	w.ready("one")
	moves, later := w.Watch(t, configmaps, w.ns, "moves"), w.Watch(t, configmaps, w.ns, "later")
	w.repo.Move("one/moves.yaml", "two/moves.yaml")
	w.ready("two")
	w.ready("one")
	stop()
	w.repo.Move("one/later.yaml", "two/later.yaml")
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.ready("two")
	w.ready("one")
	for name, r := range map[string]*kubetest.Recorder{"moves": moves, "later": later} {
		w.await(r, func(o *unstructured.Unstructured) bool {
			return strings.HasSuffix(o.GetLabels()["truce.dev/part-of"], "two")
		})
		for _, v := range r.Values() {
			if v.Object.GetUID() != r.Values()[0].Object.GetUID() {
				t.Errorf("%s was deleted on the way", name)
			}
		}
	}
}
