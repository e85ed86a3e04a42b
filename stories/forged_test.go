package stories

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const recordName = "truce-inventory-kustomization-app"

var secretKind = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// rewriteRecord changes the stored record of the app "app" as one could who may update ConfigMaps. mac is its signature from then on; empty
// takes it away.
func (w *world) rewriteRecord(change func(record map[string]any), mac string) {
	w.t.Helper()
	w.rewriteRecordIn(recordName, change, mac)
}

// rewriteRecordIn is rewriteRecord for the record in another ConfigMap.
func (w *world) rewriteRecordIn(name string, change func(record map[string]any), mac string) {
	w.t.Helper()
	var record map[string]any
	if err := json.Unmarshal([]byte(value(w.get(configmaps, name), "inventory.json")), &record); err != nil {
		w.t.Fatal(err)
	}
	change(record)
	text, err := json.Marshal(record)
	if err != nil {
		w.t.Fatal(err)
	}
	data := map[string]any{"inventory.json": string(text), "inventory.mac": nil}
	if mac != "" {
		data["inventory.mac"] = mac
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.dynamic().Resource(configmaps).Namespace(w.ns).Patch(w.ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// names adds a ConfigMap to a record, as truce itself would write it down.
func names(name, namespace string, uid types.UID) func(map[string]any) {
	return func(record map[string]any) {
		entries, _ := record["entries"].([]any)
		record["entries"] = append(entries, []any{"", "v1", "ConfigMap", namespace, name, string(uid), ""})
	}
}

// forgeries are ways to bring a record about that truce has not written.
var forgeries = map[string]func(*world) (change func(map[string]any), mac string){
	"without a signature": func(w *world) (func(map[string]any), string) {
		return names("victim", w.ns, w.get(configmaps, "victim").GetUID()), ""
	},
	"with the signature of another text": func(w *world) (func(map[string]any), string) {
		return names("victim", w.ns, w.get(configmaps, "victim").GetUID()), value(w.get(configmaps, recordName), "inventory.mac")
	},
	"in the form of an older version": func(w *world) (func(map[string]any), string) {
		return func(record map[string]any) {
			names("victim", w.ns, w.get(configmaps, "victim").GetUID())(record)
			record["format"] = 1
			delete(record, "guard")
		}, ""
	},
}

// TestARecordThatAnotherHasWrittenDeletesNothing: who may update the inventory of an app names an object of another user with its uid, and
// puts the app's mark on it. Nothing is deleted, the app says so, and from then on what truce has made is pruned as before.
func TestARecordThatAnotherHasWrittenDeletesNothing(t *testing.T) {
	t.Parallel()
	for what, forge := range forgeries {
		t.Run(what, func(t *testing.T) {
			w := offWorld(t, configMaps("app", "a", "b"))
			stop := w.start(policy.Policy{})
			w.app("app", "./app", defaultSpec)
			w.ready("app")
			w.kubectl("create", "configmap", "victim")
			w.kubectl("label", "configmap/victim", "truce.dev/part-of="+w.get(configmaps, "a").GetLabels()["truce.dev/part-of"])
			stop()
			change, mac := forge(w)
			w.rewriteRecord(change, mac)
			w.repo.Remove("app/b.yaml")
			w.start(policy.Policy{})
			t.Cleanup(w.removeApps) // while truce still runs
			t.Log(w.fails("app", "nothing is pruned in this run", "the app's inventory is not verified", "signature"))
			if got := w.deletes(); len(got) > 0 {
				t.Fatalf("deleted %v", got)
			}
			w.check("app")
			w.ready("app")
			w.goes(configmaps, "b")
			if diff := cmp.Diff([]string{"configmaps b"}, w.deletes()); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			if !w.isThere(configmaps, "victim") {
				t.Error("the object that the forged record names is gone")
			}
		})
	}
}

// TestARecordThatWaitsForAnAppDeletesNothing: a forged record lies there before the app is made; deleting the app deletes what truce has made.
func TestARecordThatWaitsForAnAppDeletesNothing(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a"))
	w.kubectl("create", "configmap", "victim")
	victim := w.get(configmaps, "victim").GetUID()
	text, err := json.Marshal(map[string]any{
		"format": 1, "kind": "Kustomization", "name": "app", "namespace": w.ns,
		"entries": []any{[]any{"", "v1", "ConfigMap", w.ns, "victim", string(victim), ""}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Apply(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"`+recordName+`","namespace":"`+w.ns+
		`","labels":{"truce.dev/inventory":"true"}},"data":{"inventory.json":`+strings.TrimSpace(quoted(t, string(text)))+`}}`)
	w.app("app", "./app", defaultSpec)
	w.fails("app", "nothing is pruned in this run", "no signature")
	w.check("app")
	w.ready("app")
	w.kubectl("delete", "kustomization.kustomize.toolkit.fluxcd.io/app", "--timeout="+patience.String())
	w.goes(configmaps, "a")
	if diff := cmp.Diff([]string{"configmaps a"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// TestARecordThatAnotherHasWrittenDeletesNoHook: who may update the inventory of an Application names a hook of another one as left by its operations, and
// no object, so that there is nothing else in it to be verified.
func TestARecordThatAnotherHasWrittenDeletesNoHook(t *testing.T) {
	victim := jobHook("victim", "argocd.argoproj.io/hook: PreSync", "1")
	w := offArgoWorld(t, "-- app/all.yaml --\n"+configMap("web")+"-- other/all.yaml --\n"+configMap("other")+victim)
	stop := w.start(policy.Policy{})
	automated := "\nsyncPolicy: {automated: {}, retry: {limit: 0}}"
	w.application("web", "app", automated)
	w.inSync("web")
	w.application("other", "other", automated)
	w.exists(jobs, "victim")
	w.endJob("victim", "Complete")
	w.operates("other", "Succeeded", "PreSync victim Succeeded")
	stop()
	w.rewriteRecordIn("truce-inventory-application-web", func(record map[string]any) {
		record["entries"], record["operation"] = []any{}, map[string]any{"key": "k", "left": []any{"Job.batch " + w.ns + "/victim"}}
	}, "")
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // while truce still runs
	w.delete(applications, w.ns, "web")
	w.goes(applications, "web")
	if !w.isThere(jobs, "victim") {
		t.Error("the hook that the forged record names is gone")
	}
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestALostKeyPrunesNothingAndIsReplaced: the records are signed with the new key, from what is seen.
func TestALostKeyPrunesNothingAndIsReplaced(t *testing.T) {
	w := offWorld(t, configMaps("app", "a", "b", "c"))
	stop := w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	stop()
	before := w.get(secretKind, "truce-inventory-key").GetUID()
	w.kubectl("delete", "secret/truce-inventory-key")
	w.repo.Remove("app/b.yaml")
	stop = w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // while truce still runs
	w.fails("app", "nothing is pruned in this run", "its signature is wrong", "the key in Secret "+w.ns+"/truce-inventory-key is a new one")
	if got := w.deletes(); len(got) > 0 {
		t.Fatalf("deleted %v", got)
	}
	if after := w.get(secretKind, "truce-inventory-key").GetUID(); after == before {
		t.Error("the key is the old one")
	}
	w.check("app")
	w.ready("app")
	w.goes(configmaps, "b")
	stop()
	w.repo.Remove("app/c.yaml")
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.ready("app")
	w.goes(configmaps, "c")
	if diff := cmp.Diff([]string{"configmaps b", "configmaps c"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}
