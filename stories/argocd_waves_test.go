package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
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
	w := newArgoWorld(t, app.Policy{}, "-- app/all.yaml --\n"+first)
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 0}}")
	w.exists(jobs, "first")
	w.waitsFor("web", "waiting for Job.batch "+w.ns+"/first")
	if w.isThere(configmaps, "web") || w.isThere(jobs, "beside") || w.isThere(configmaps, "late") {
		t.Error("what comes later is there before the first wave is healthy")
	}
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
	w.kubectl("label", "configmap", "late", "changed=yes")
	w.kubectl("patch", "configmap", "late", "--type=merge", "-p", `{"data":{"k":"drift"}}`)
	w.endJob("second", "Failed")
	w.operates("web", "Failed", "")
	if got := w.kubectl("get", "configmap", "web", "late", "-o", "jsonpath={.items[*].data.k}"); got != "2 drift" {
		t.Errorf("the values of web and late are %s, want 2 drift", got)
	}
}

// waitsFor waits until the newest operation says that it waits for something.
func (w *world) waitsFor(name, message string) {
	w.t.Helper()
	w.becomes(name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == "Running" && strings.Contains(text(o, "status", "operationState", "message"), message)
	})
}
