package stories

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// recordText is what the record of the app "app" holds, with its signature.
func (w *world) recordText() map[string]any {
	w.t.Helper()
	data, _ := w.get(configmaps, recordName).Object["data"].(map[string]any)
	return data
}

// putRecordBack makes the record what it was, as who may update ConfigMaps can.
func (w *world) putRecordBack(data map[string]any) {
	w.t.Helper()
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.dynamic().Resource(configmaps).Namespace(w.ns).Patch(w.ctx, recordName, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// recorded are the names of the objects in the record of the app "app".
func (w *world) recorded() []string {
	w.t.Helper()
	var record struct{ Entries [][]string }
	if err := json.Unmarshal([]byte(value(w.get(configmaps, recordName), "inventory.json")), &record); err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, e := range record.Entries {
		out = append(out, e[4])
	}
	return out
}

// TestAnOlderRecordThatIsPutBackDeletesNothingWrong: the record of an earlier time names an object that another app has now, one that has been
// deleted and that a person has made again with truce's label, and lacks one that was added since. Its signature is right.
func TestAnOlderRecordThatIsPutBackDeletesNothingWrong(t *testing.T) {
	t.Parallel()
	for _, runs := range []string{"while truce is stopped", "while truce runs"} {
		t.Run(runs, func(t *testing.T) {
			w := offWorld(t, configMaps("app", "a", "moved", "remade")+configMaps("other", "z"))
			stop := w.start(policy.Policy{})
			w.app("app", "./app", defaultSpec)
			w.app("other", "./other", defaultSpec)
			w.ready("app")
			older := w.recordText()
			w.repo.Remove("app/remade.yaml")
			w.ready("app")
			w.goes(configmaps, "remade")
			w.kubectl("create", "configmap", "remade")
			w.kubectl("label", "configmap/remade", "truce.dev/part-of="+w.get(configmaps, "a").GetLabels()["truce.dev/part-of"])
			w.repo.Move("app/moved.yaml", "other/moved.yaml")
			w.ready("other")
			w.ready("app")
			w.repo.Commit(map[string]string{"app/added.yaml": strings.ReplaceAll(configMap("added"), "NAMESPACE", w.ns)}, "added")
			w.ready("app")
			if runs == "while truce is stopped" {
				stop()
			}
			w.putRecordBack(older)
			if runs == "while truce is stopped" {
				w.start(policy.Policy{})
				t.Cleanup(w.removeApps) // while truce still runs
			}
			w.check("app")
			w.ready("app")
			w.repo.Commit(map[string]string{"app/more.yaml": strings.ReplaceAll(configMap("more"), "NAMESPACE", w.ns)}, "more") // it is written again now at the latest
			w.ready("app")
			w.until("the record to name what Git names", func() bool { return slices.Equal(w.recorded(), []string{"a", "added", "more"}) })
			if diff := cmp.Diff([]string{"configmaps remade"}, w.deletes()); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			w.repo.Remove("app/added.yaml")
			w.goes(configmaps, "added")
			w.check("app")
			w.ready("app")
			if diff := cmp.Diff([]string{"configmaps added", "configmaps remade"}, slices.Sorted(slices.Values(w.deletes()))); diff != "" {
				t.Errorf("deleted in the end (-want +got):\n%s", diff)
			}
			for _, name := range []string{"moved", "remade"} {
				if !w.isThere(configmaps, name) {
					t.Errorf("%s is gone", name)
				}
			}
		})
	}
}

// TestTheRecordOfAnEarlierAppOfTheSameNameDeletesNothingUnasked: an app is deleted without its objects, and made again for fewer of them. The record
// of the first one is put back: its objects are truce's by label, uid and signature, and the user has kept them.
func TestTheRecordOfAnEarlierAppOfTheSameNameDeletesNothingUnasked(t *testing.T) {
	w := offWorld(t, configMaps("app", "a", "b", "kept")+configMaps("next", "b", "c", "a"))
	stop := w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec+"\ndeletionPolicy: Orphan")
	w.ready("app")
	older := w.recordText()
	w.kubectl("delete", "kustomization.kustomize.toolkit.fluxcd.io/app", "--timeout="+patience.String())
	w.app("app", "./next", defaultSpec)
	w.ready("app")
	w.check("app")
	if !w.isThere(configmaps, "kept") {
		t.Fatal("the object of the app that is gone is gone")
	}
	stop()
	w.putRecordBack(older)
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // while truce still runs
	t.Log(w.fails("app", "1 of ", "would be deleted, which an earlier app of this name", "may have left", "truce app approve-prune"))
	w.check("app")
	w.fails("app", "which an earlier app of this name")
	if got := w.deletes(); len(got) > 0 {
		t.Fatalf("deleted %v", got)
	}
	w.kubectl("delete", "kustomization.kustomize.toolkit.fluxcd.io/app", "--timeout="+patience.String())
	if diff := cmp.Diff([]string{"configmaps a", "configmaps b", "configmaps c"}, slices.Sorted(slices.Values(w.deletes()))); diff != "" {
		t.Errorf("deleted with the app (-want +got):\n%s", diff)
	}
	if !w.isThere(configmaps, "kept") {
		t.Error("the object of the earlier app went with this one")
	}
}
