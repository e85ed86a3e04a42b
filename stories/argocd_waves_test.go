package stories

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configOfWave is a ConfigMap of a wave, with a value.
func configOfWave(name, wave, value string) string {
	return "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", annotations: {argocd.argoproj.io/sync-wave: \"" + wave + "\"}}\ndata: {k: \"" + value + "\"}\n"
}

// aJobOfWave is a Job that is no hook: it is healthy when it is complete.
func aJobOfWave(name, wave string) string {
	return jobHook(name, `argocd.argoproj.io/sync-wave: "`+wave+`"`, "1")
}

func TestSyncWavesOrderAnOperation(t *testing.T) {
	first := aJobOfWave("first", "-1") + configOfWave("web", "none", "1") +
		jobHook("beside", `argocd.argoproj.io/hook: Sync, argocd.argoproj.io/sync-wave: "1"`, "1") + configOfWave("late", "2", "1")
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+first)
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 0}}")
	w.exists(jobs, "first")
	w.waitsFor("web", "waiting for Job.batch "+w.ns+"/first")
	if w.isThere(configmaps, "web") || w.isThere(jobs, "beside") || w.isThere(configmaps, "late") {
		t.Error("what comes later is there before the first wave is healthy")
	}
	w.differs("web", "ConfigMap late OutOfSync, ConfigMap web OutOfSync, Job first Synced")
	w.endJob("first", "Complete")
	w.exists(configmaps, "web")
	w.exists(jobs, "beside")
	w.waitsFor("web", "waiting for Sync hook Job.batch "+w.ns+"/beside")
	if w.isThere(configmaps, "late") {
		t.Error("the last wave is there before the hook of the wave before has ended")
	}
	w.endJob("beside", "Complete")
	w.exists(configmaps, "late")
	w.operates("web", "Succeeded", "Sync beside Succeeded")
	w.inSync("web")

	// What waits for its wave stays as it is, also if it changes meanwhile, and if the wave before it fails.
	second := aJobOfWave("first", "-1") + aJobOfWave("second", "1") + configOfWave("web", "none", "2") + configOfWave("late", "2", "2")
	w.repo.Commit(map[string]string{"app/all.yaml": second}, "two")
	w.exists(jobs, "second")
	w.waitsFor("web", "waiting for Job.batch "+w.ns+"/second")
	w.differs("web", "ConfigMap late OutOfSync, ConfigMap web Synced, Job first Synced, Job second Synced, hook Job beside")
	w.kubectl("label", "configmap", "late", "changed=yes")
	w.kubectl("patch", "configmap", "late", "--type=merge", "-p", `{"data":{"k":"drift"}}`)
	w.endJob("second", "Failed")
	w.operates("web", "Failed", "")
	if got := w.kubectl("get", "configmap", "web", "late", "-o", "jsonpath={.items[*].data.k}"); got != "2 drift" {
		t.Errorf("the values of web and late are %s, want 2 drift", got)
	}
}

// differs waits until the Application is OutOfSync with these objects.
func (w *world) differs(name, objects string) {
	w.t.Helper()
	w.becomes(name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "status") == "OutOfSync" && listed(o) == objects
	})
}

// waitsFor waits until the newest operation says that it waits for something.
func (w *world) waitsFor(name, message string) {
	w.t.Helper()
	w.becomes(name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Running" && strings.Contains(text(o, "status", "operationState", "message"), message)
	})
}

// held is a ConfigMap of a wave that its finalizer keeps when it is deleted.
func held(t *testing.T, name, wave string) string {
	t.Helper()
	return replace(t, configOfWave(name, wave, "1"), "annotations:", "finalizers: [stories.truce.dev/hold], annotations:")
}

// terminates waits until a ConfigMap is being deleted.
func (w *world) terminates(name string) {
	w.t.Helper()
	w.await(w.Watch(w.t, configmaps, w.ns, name), func(o *unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
}

// removeFinalizers ends a ConfigMap that is being deleted.
func (w *world) removeFinalizers(name string) {
	w.t.Helper()
	w.patch(configmaps, name, map[string]any{"metadata": map[string]any{"finalizers": nil}}, "stories")
}

func TestAPruneWaitsUntilTheWaveBeforeIsGone(t *testing.T) {
	stay := configOfWave("stays", "0", "1") + configOfWave("stays-too", "0", "1") + configOfWave("stays-as-well", "0", "1") + configOfWave("stays-with-them", "0", "1")
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+stay+configOfWave("first", "-1", "1")+held(t, "second", "1")+held(t, "third", "2"))
	w.application("web", "app", automated)
	w.inSync("web")
	w.repo.Commit(map[string]string{"app/all.yaml": stay}, "two")
	w.terminates("third")
	w.waitsFor("web", "waiting until ConfigMap "+w.ns+"/third is gone")
	if !w.isThere(configmaps, "second") || !w.isThere(configmaps, "first") {
		t.Error("an earlier wave was pruned before the last one was gone")
	}
	w.removeFinalizers("third")
	w.terminates("second")
	w.waitsFor("web", "waiting until ConfigMap "+w.ns+"/second is gone")
	if !w.isThere(configmaps, "first") {
		t.Error("the first wave was pruned before the second one was gone")
	}
	w.removeFinalizers("second")
	w.goes(configmaps, "first")
	w.inSync("web")
	o := w.operates("web", "Succeeded", "")
	var pruned []string
	for _, r := range entries(o, "status", "operationState", "syncResult", "resources") {
		if r["status"] == "Pruned" {
			pruned = append(pruned, r["name"].(string))
		}
	}
	if got := strings.Join(pruned, " "); got != "third second first" {
		t.Errorf("the operation says that %q were pruned", got)
	}

	// So are the objects of an Application that is deleted.
	w.repo.Commit(map[string]string{"app/all.yaml": stay + held(t, "late", "1")}, "three")
	w.exists(configmaps, "late")
	w.inSync("web")
	w.kubectl("delete", "application.argoproj.io/web", "--wait=false")
	w.terminates("late")
	w.argoCondition("web", "Notice", "waiting until ConfigMap "+w.ns+"/late is gone")
	if !w.isThere(configmaps, "stays") {
		t.Error("the first wave was deleted before the last one was gone")
	}
	w.removeFinalizers("late")
	w.until("the end of the Application", func() bool { return w.get(applications, "web") == nil })
	if w.isThere(configmaps, "stays") {
		t.Error("the first wave is still there")
	}
}

// TestAnApprovedPruneOfSeveralWaves: the approval of a list holds for each wave of it, after a restart too, and for nothing else.
func TestAnApprovedPruneOfSeveralWaves(t *testing.T) {
	stay := configOfWave("stays", "0", "1") + configOfWave("later", "0", "1")
	w := offArgoWorld(t, "-- app/all.yaml --\n"+stay+configOfWave("first", "-1", "1")+held(t, "second", "1")+held(t, "third", "2"))
	stop := w.start(policy.Policy{})
	w.application("web", "app", automated)
	w.annotate(applications, "web", "truce.dev/prune-guard", "0")
	w.inSync("web")
	w.repo.Commit(map[string]string{"app/all.yaml": stay}, "two")
	said := w.argoCondition("web", "SyncError", "3 of 5 objects would be deleted")
	if got := w.deletes(); len(got) > 0 {
		t.Fatalf("deleted without approval: %v", got)
	}
	w.annotate(applications, "web", "truce.dev/approve-prune", approval.FindStringSubmatch(said)[1])
	w.terminates("third")
	w.waitsFor("web", "waiting until ConfigMap "+w.ns+"/third is gone")
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // while truce still runs
	w.removeFinalizers("third")
	w.terminates("second")
	if !w.isThere(configmaps, "first") {
		t.Error("the first wave was pruned before the second one was gone")
	}

	// What leaves Git while it waits makes another list, which waits for an approval of its own.
	w.repo.Commit(map[string]string{"app/all.yaml": configOfWave("stays", "0", "1")}, "three")
	said = w.argoCondition("web", "SyncError", "2 of 5 objects would be deleted")
	w.removeFinalizers("second")
	if diff := cmp.Diff([]string{"configmaps third", "configmaps second"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	w.annotate(applications, "web", "truce.dev/approve-prune", approval.FindStringSubmatch(said)[1])
	w.goes(configmaps, "first")
	w.inSync("web")
	if diff := cmp.Diff([]string{"configmaps third", "configmaps second", "configmaps later", "configmaps first"}, w.deletes()); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}
