package stories

import (
	"fmt"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var (
	claims       = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	statefulSets = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	namespaces   = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
)

func TestWhatLeavesGitIsDeletedAndNothingElse(t *testing.T) {
	w := offWorld(t, configMaps("app", "a", "b", "c"))
	stop := w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	// Another owner's object with the same labels.
	labels := w.get(configmaps, "b").GetLabels()
	w.Apply(t, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: stranger, namespace: %s}}", w.ns))
	for k, v := range labels {
		w.kubectl("label", "configmap/stranger", k+"="+v)
	}
	w.repo.Remove("app/b.yaml")
	w.ready("app")
	w.goes(configmaps, "b")
	w.check("app")
	if diff := cmp.Diff([]string{"configmaps b"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"pruned b Git no longer has it"}, w.happened("app", journal.Pruned)); diff != "" {
		t.Errorf("the journal (-want +got):\n%s", diff)
	}
	for _, name := range []string{"a", "c", "stranger"} {
		if !w.isThere(configmaps, name) {
			t.Errorf("%s is gone", name)
		}
	}
	w.removeApps()
	stop()
	journalFile := filepath.Join(w.cache, "journal.db")
	w.saysOf(w.truce(), 3, "why configmap/b --from "+journalFile, "is not in the cluster, and no app describes it; Kustomization "+w.ns+"/app deleted it at ", ": Git no longer has it, main@sha1:")
	w.saysOf(w.truce(), 3, "why configmap/never --from "+journalFile, "; there are kube-root-ca.crt, stranger")
	w.saysOf(w.truce(), 3, "why configmap/a --from "+journalFile, "/app deleted it at ", ": its app is deleted")
	w.saysOf(w.truce(), 0, "history --from "+journalFile, "pruned", "ConfigMap "+w.ns+"/b: Git no longer has it")
	w.saysOf(w.truce(), 0, "history --postmortem --from "+journalFile, "Nothing: no field was put back.", "| pruned | ConfigMap "+w.ns+"/b: Git no longer has it |")
}

// TestAnAppPrunesThoughOthersOfItsSourceCannotRun: it waits for no app that will see no revision, neither for one that never could nor for one that
// could not any more.
func TestAnAppPrunesThoughOthersOfItsSourceCannotRun(t *testing.T) {
	others := map[string]string{
		"torn": "", "suspended": "suspend: true", "waiting": "dependsOn: [{name: missing}]", "barred": "serviceAccountName: missing",
		"refused": "ignoreDifferences: [{target: {kind: ConfigMap}, jsonPatches: [{op: add, path: /data/x}]}]",
	}
	files := configMaps("app", "a", "b", "c", "d")
	for name := range others {
		files += configMaps(name, "of-"+name)
	}
	w := newWorld(t, policy.Policy{}, files)
	w.app("app", "./app", defaultSpec)
	for name, spec := range others {
		w.app(name, "./"+name, defaultSpec+"\n"+spec)
	}
	w.app("absent", "./nowhere", defaultSpec)
	w.ready("app")
	w.ready("torn")
	for _, gone := range []string{"b", "c"} {
		w.repo.Remove("app/" + gone + ".yaml")
		w.ready("app")
		w.goes(configmaps, gone)
	}
	w.repo.Commit(map[string]string{"torn/of-torn.yaml": "a: [\n"}, "torn")
	w.condition("torn", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "False" })
	w.repo.Remove("app/d.yaml")
	w.ready("app")
	w.goes(configmaps, "d")
	if diff := cmp.Diff([]string{"configmaps b", "configmaps c", "configmaps d"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

func TestAnObjectThatCameBackIsStillPruned(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	b := w.Watch(t, configmaps, w.ns, "b")
	first := w.await(b, exists).GetUID()
	w.kubectl("delete", "configmap/b")
	w.await(b, func(o *unstructured.Unstructured) bool { return o.GetUID() != first })
	w.repo.Remove("app/b.yaml")
	w.ready("app")
	w.check("app")
	if w.isThere(configmaps, "b") {
		t.Error("b left Git, was made by truce, and is still there")
	}
}

func exists(*unstructured.Unstructured) bool { return true }

func TestAnObjectThatSomebodyPutInPlaceOfOursIsNotDeleted(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	w.suspend("app")
	labels := w.get(configmaps, "b").GetLabels()
	w.kubectl("delete", "configmap/b")
	w.kubectl("create", "configmap", "b")
	for k, v := range labels { // a copy bears the marks of what it was copied from
		w.kubectl("label", "configmap/b", k+"="+v)
	}
	w.repo.Remove("app/b.yaml")
	w.fetched("repo") // or the app would run once more at the former commit, in which this b is its own
	w.kubectl("patch", "kustomization/app", "--type=merge", `-p={"spec":{"suspend":false}}`)
	w.ready("app")
	w.check("app")
	if !w.isThere(configmaps, "b") || len(w.deletes()) > 0 {
		t.Errorf("somebody's own b was deleted: %v", w.deletes())
	}
}

func TestPruneFalseAndAnnotationsKeep(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("kept", "a", "b")+configMaps("pruned", "c", "d", "e", "f"))
	for name, annotation := range map[string]string{
		"c": "kustomize.toolkit.fluxcd.io/prune", "d": "kustomize.toolkit.fluxcd.io/prune",
	} {
		w.repo.Commit(map[string]string{"pruned/" + name + ".yaml": fmt.Sprintf(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":%q,"annotations":{%q:"disabled"}}}`, name, w.ns, annotation)}, "keep "+name)
	}
	w.app("pruned", "./pruned", defaultSpec)
	w.app("kept", "./kept", defaultSpec)
	w.kubectl("patch", "kustomization/kept", "--type=merge", `-p={"spec":{"prune":false}}`)
	w.ready("pruned")
	w.ready("kept")
	w.repo.Remove("kept/a.yaml", "pruned/c.yaml", "pruned/e.yaml")
	w.ready("pruned")
	w.ready("kept")
	w.goes(configmaps, "e")
	w.check("kept")
	w.check("pruned")
	if diff := cmp.Diff([]string{"configmaps e"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if got := w.happened("pruned", journal.Failed); len(got) > 0 { // a prune that waits for another app has not failed
		t.Errorf("the journal has %q", got)
	}
	// The status and the commands say the same of what was kept.
	w.condition("kept", "Drifted", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["message"] == "1 object no longer in Git, and not pruned: ConfigMap "+w.ns+"/a"
	})
	truce := w.truce()
	w.saysOf(truce, 0, "app get kept", "OutOfSync", "no longer in Git, and not pruned: pruning is off")
	w.saysOf(truce, 1, "app diff kept", "ConfigMap "+w.ns+"/a\n  no longer in Git, and not pruned: pruning is off\n", "1 object no longer in Git\n")
	w.saysOf(truce, 0, "app diff pruned", "no differences")
	// Deleting the Kustomizations deletes what may be deleted: all but what is annotated, and nothing under prune: false.
	w.kubectl("delete", "kustomization/kept", "kustomization/pruned")
	w.goes(configmaps, "f")
	if diff := cmp.Diff([]string{"configmaps e", "configmaps f"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		if !w.isThere(configmaps, name) {
			t.Errorf("%s is gone", name)
		}
	}
}

// TestAnObjectWithoutANamespaceIsRefused: Flux and Argo CD apply none to the namespace default that no file names.
func TestAnObjectWithoutANamespaceIsRefused(t *testing.T) {
	w := newWorld(t, policy.Policy{}, "-- app/homeless.yaml --\n{apiVersion: v1, kind: ConfigMap, metadata: {name: homeless}}\n"+configMaps("app", "a"))
	w.app("app", "./app", defaultSpec)
	w.fails("app", "app/homeless.yaml:1: ConfigMap homeless: no namespace: set metadata.namespace")
	w.until("the others to be there", func() bool { return w.isThere(configmaps, "a") })
	w.edit("app/homeless.yaml", "{name: homeless}", "{name: homeless, namespace: "+w.ns+"}")
	w.ready("app")
	if !w.isThere(configmaps, "homeless") {
		t.Error("it is not there")
	}
}

// emptied are the ways in which a source can say nothing, or nothing that can be understood.
var emptied = map[string]struct {
	do   func(t *testing.T, w *world)
	says []string
}{
	"a directory that is gone": {
		func(_ *testing.T, w *world) { w.repo.Remove("app") }, []string{"render app: the path does not exist"},
	},
	"a directory without manifests": {
		func(_ *testing.T, w *world) {
			w.repo.ForcePush(map[string]string{"app/README.md": "nothing here\n"}, "emptied")
		}, []string{"no object at all", "nothing is pruned"},
	},
	"a kustomization without resources": {
		func(_ *testing.T, w *world) {
			w.repo.ForcePush(map[string]string{"app/kustomization.yaml": "resources: []\n"}, "emptied")
		}, []string{"no object at all", "nothing is pruned"},
	},
	"a kustomization that is no YAML": {
		func(_ *testing.T, w *world) {
			w.repo.Commit(map[string]string{"app/kustomization.yaml": "resources: [\n"}, "broken")
		}, []string{"app/kustomization.yaml"},
	},
	"a kustomization that names what is not there": {
		func(_ *testing.T, w *world) {
			w.repo.Commit(map[string]string{"app/kustomization.yaml": "resources: [a.yaml, gone.yaml]\n"}, "broken")
		}, []string{"app/kustomization.yaml", "gone.yaml"},
	},
	"a manifest that is no YAML": {
		func(_ *testing.T, w *world) {
			w.repo.Commit(map[string]string{"app/b.yaml": "{\n"}, "broken")
		}, []string{"app/b.yaml"},
	},
	"an emptied repository": {
		func(_ *testing.T, w *world) { w.repo.ForcePush(map[string]string{"README.md": "moved\n"}, "emptied") }, []string{"render app: the path does not exist"},
	},
}

func TestAnEmptySourcePrunesNothing(t *testing.T) {
	t.Parallel()
	for what, c := range emptied {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
			w.app("app", "./app", defaultSpec)
			w.ready("app")
			c.do(t, w)
			t.Log(w.fails("app", c.says...))
			w.check("app")
			if got := w.deletes(); len(got) > 0 {
				t.Errorf("deleted %v", got)
			}
			for _, name := range []string{"a", "b"} {
				if !w.isThere(configmaps, name) {
					t.Errorf("%s is gone", name)
				}
			}
			w.repo.ForcePush(w.inNamespace(gittest.Files(configMaps("app", "a", "b"))), "as before")
			w.ready("app")
		})
	}
}

func TestASourceThatCannotBeReadPrunesNothing(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	w.repo.Remove("app/b.yaml")
	w.ready("app")
	w.goes(configmaps, "b")
	if err := os.Rename(w.repo.Dir, w.repo.Dir+".away"); err != nil {
		t.Fatal(err)
	}
	w.kubectl("annotate", "gitrepository/repo", "reconcile.fluxcd.io/requestedAt=now")
	w.await(w.Watch(t, gitRepositories, w.ns, "repo"), func(o *unstructured.Unstructured) bool { return readiness(o) == "False" })
	w.check("app")
	// The old state stays enforced.
	a := w.Watch(t, configmaps, w.ns, "a")
	w.putBack(a, "a", "changed", "a")
	if diff := cmp.Diff([]string{"configmaps b"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

func readiness(o *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, e := range list {
		if c, _ := e.(map[string]any); c["type"] == "Ready" {
			s, _ := c["status"].(string)
			return s
		}
	}
	return ""
}

func value(o *unstructured.Unstructured, key string) string {
	s, _, _ := unstructured.NestedString(o.Object, "data", key)
	return s
}

var approval = regexp.MustCompile(`truce\.dev/approve-prune=(\w+)`)

// heldPrune waits until a prune is held, and returns the token that would approve it.
func (w *world) heldPrune(name string, parts ...string) string {
	w.t.Helper()
	message := w.fails(name, append(parts, "truce.dev/approve-prune=")...)
	w.t.Log(message)
	return approval.FindStringSubmatch(message)[1]
}

func TestALargePruneWaitsForTheApprovalOfThatList(t *testing.T) {
	names := strings.Split("a b c d e f g h i j k l m", " ")
	w := newWorld(t, policy.Policy{}, configMaps("app", names...))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	var gone []string
	for _, n := range names[:11] {
		gone = append(gone, "app/"+n+".yaml")
	}
	w.repo.Remove(gone...)
	old := w.heldPrune("app", "11 of 13 objects")
	w.repo.Remove("app/l.yaml")
	now := w.heldPrune("app", "12 of 13 objects")
	if old == now {
		t.Fatalf("two lists have one token %s", now)
	}
	w.kubectl("annotate", "kustomization/app", "truce.dev/approve-prune="+old)
	w.check("app")
	w.heldPrune("app", "12 of 13 objects")
	if got := w.deletes(); len(got) > 0 {
		t.Fatalf("deleted without approval: %v", got)
	}
	// What is held is not left to itself: it is still there, and nothing else waits for it.
	w.edit("app/m.yaml", `"k":"m"`, `"k":"new"`)
	w.await(w.Watch(t, configmaps, w.ns, "m"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "new" })
	w.kubectl("annotate", "--overwrite", "kustomization/app", "truce.dev/approve-prune="+now)
	w.ready("app")
	if got := w.deletes(); len(got) != 12 {
		t.Errorf("%d deletes, want 12: %v", len(got), got)
	}
	if !w.isThere(configmaps, "m") {
		t.Error("m is gone")
	}
}

const preciousThings = `
-- app/pvc.yaml --
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: NAMESPACE}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: none}
-- app/statefulset.yaml --
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: NAMESPACE}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: db}]}}
-- app/namespace.yaml --
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE-more}
`

func TestWhatHoldsDataIsPrunedOnlyWithApproval(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b")+preciousThings)
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	for _, c := range []struct {
		file, says string
		kind       schema.GroupVersionResource
		name       string
	}{
		{"app/pvc.yaml", "PersistentVolumeClaim", claims, "data"},
		{"app/statefulset.yaml", "StatefulSet", statefulSets, "db"},
		{"app/namespace.yaml", "Namespace", namespaces, w.ns + "-more"},
	} {
		before := len(w.deletes())
		w.repo.Remove(c.file)
		token := w.heldPrune("app", c.says)
		if got := w.deletes(); len(got) != before {
			t.Fatalf("%s: deleted without approval: %v", c.file, got)
		}
		w.kubectl("annotate", "--overwrite", "kustomization/app", "truce.dev/approve-prune="+token)
		w.ready("app")
		if got := w.deletes(); len(got) != before+1 || got[before] != c.kind.Resource+" "+c.name {
			t.Errorf("%s: deleted %v", c.file, got)
		}
	}
}

func TestDeletingAKustomizationDeletesItsObjects(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b")+preciousThings+configMaps("other", "c"))
	w.app("app", "./app", defaultSpec)
	w.app("other", "./other", defaultSpec)
	w.ready("app")
	w.ready("other")
	w.kubectl("delete", "kustomization/app")
	want := []string{"configmaps a", "configmaps b", "namespaces " + w.ns + "-more", "persistentvolumeclaims data", "statefulsets db"}
	got := map[string]bool{}
	for _, d := range w.deletes() {
		got[d] = true
	}
	for _, d := range want {
		if !got[d] {
			t.Errorf("%s was not deleted", d)
		}
	}
	if len(got) != len(want) || !w.isThere(configmaps, "c") {
		t.Errorf("deleted %v, want only %v", got, want)
	}
}

func TestDeletingAKustomizationWithoutPruneKeepsItsObjects(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b")+configMaps("other", "c"))
	w.source("repo", "url: "+w.repo.URL+"\ninterval: 1m\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: false\ninterval: 1h")
	w.ready("app")
	w.kubectl("delete", "kustomization/app")
	if got := w.deletes(); len(got) > 0 || !w.isThere(configmaps, "a") || !w.isThere(configmaps, "b") {
		t.Errorf("deleted %v under prune: false", got)
	}
	// Nothing keeps them any more, and nothing is left of the app.
	if w.isThere(configmaps, "truce-inventory-kustomization-app") {
		t.Error("the inventory of the deleted app is still there")
	}
	before := len(w.objectWrites())
	w.kubectl("patch", "configmap/a", "--type=merge", `-p={"data":{"k":"changed"}}`)
	w.app("other", "./other", defaultSpec)
	w.ready("other") // truce has seen the change by then
	if writes := w.objectWrites()[before:]; len(writes) != 1 || value(w.get(configmaps, "a"), "k") != "changed" {
		t.Errorf("the deleted app's objects are still kept: %v", writes)
	}
	w.app("another", "./app", defaultSpec) // they are free for others
	w.ready("another")
	if got := value(w.get(configmaps, "a"), "k"); got != "a" {
		t.Errorf("k is %s under the app that took over", got)
	}
}

func TestWhatADeletedAppLeavesBehindIsFreeForTheAppThatAskedForIt(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("one", "shared")+"-- two/shared.yaml --\n"+replace(t, configMap("shared"), `"k":"shared"`, `"k":"two"`))
	w.source("repo", "url: "+w.repo.URL+"\ninterval: 1m\nref: {branch: main}")
	w.kustomization("one", "repo", "path: ./one\nprune: false\ninterval: 1h")
	w.ready("one")
	w.kustomization("two", "repo", "path: ./two\nprune: true\ninterval: 1h")
	w.fails("two", "shared is named by Kustomization "+w.ns+"/one too")
	w.kubectl("delete", "kustomization/one")
	w.ready("two")
	if got := value(w.get(configmaps, "shared"), "k"); got != "two" {
		t.Errorf("k is %s, want the second app's", got)
	}
}

func TestWhatOthersKeepWritingToIsPrunedAllTheSame(t *testing.T) {
	names := []string{"b", "c", "d", "e"}
	w := newWorld(t, policy.Policy{}, configMaps("app", append(names, "a")...))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for _, name := range names {
		writers.Go(func() {
			for n := 0; ; n++ {
				begin := time.Now()
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"count":"%d"}}}`, n)
				if _, err := d.Resource(configmaps).Namespace(w.ns).Patch(w.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					return // it is gone
				}
				kubetest.Span(w.ctx, 50*time.Millisecond+10*time.Since(begin)) // a busy controller's pace, on a busy machine too
			}
		})
	}
	w.repo.Remove("app/b.yaml", "app/c.yaml", "app/d.yaml", "app/e.yaml")
	w.ready("app")
	writers.Wait()
	if got := w.deletes(); len(got) != len(names) {
		t.Errorf("deleted %v, want %v", got, names)
	}
}
