package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// jobHook is a Job that bears annotations, with a value that a new revision may change.
func jobHook(name, annotations, value string) string {
	return `
---
apiVersion: batch/v1
kind: Job
metadata: {name: ` + name + `, annotations: {` + annotations + `}}
spec:
  managedBy: stories.truce.dev/hand
  template:
    spec:
      restartPolicy: Never
      containers: [{name: run, image: "busybox:1.37", env: [{name: OF, value: "` + value + `"}]}]
`
}

func plainHooks(value string) string {
	return configMap("web") +
		jobHook("before", "argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: \"1\"", value) +
		jobHook("first", "argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded", value) +
		jobHook("after", "argocd.argoproj.io/hook: PostSync", value) +
		jobHook("alarm", "argocd.argoproj.io/hook: SyncFail", value)
}

// hookResults are the hooks of the newest operation, each with its phase.
func hookResults(o *unstructured.Unstructured) string {
	var out []string
	for _, r := range entries(o, "status", "operationState", "syncResult", "resources") {
		if kind, _ := r["hookType"].(string); kind != "" {
			out = append(out, fmt.Sprintf("%s %s %s", kind, r["name"], r["hookPhase"]))
		}
	}
	return strings.Join(out, ", ")
}

// operates waits until the newest operation is in a phase, and its hooks are as said.
func (w *world) operates(name, phase, hooks string) *unstructured.Unstructured {
	w.t.Helper()
	return w.becomes(name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") == phase && hookResults(o) == hooks
	})
}

func TestHooksOfAnOperationRunOnceAndInTheirOrder(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+plainHooks("1"))
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 0}}")
	w.exists(jobs, "first")
	waits := w.operates("web", "Running", "PreSync first Running")
	if sync, health := text(waits, "status", "sync", "status"), text(waits, "status", "health", "status"); sync != "OutOfSync" || health != "Missing" {
		t.Errorf("while the first hook runs the Application is %s, %s", sync, health)
	}
	if got := listed(waits); got != "ConfigMap web OutOfSync, hook Job first" {
		t.Errorf("while the first hook runs it lists %s", got)
	}
	if w.isThere(jobs, "before") || w.isThere(configmaps, "web") {
		t.Error("what comes later is there before the first hook has ended")
	}
	if got := images(waits); got != "[busybox:1.37]" {
		t.Errorf("while the first hook runs the images are %s", got)
	}
	w.endJob("first", "Complete")
	before := w.exists(jobs, "before")
	w.endJob("before", "Complete")
	w.exists(jobs, "after")
	w.goes(jobs, "first")
	if !w.isThere(configmaps, "web") {
		t.Error("the hook after the objects is there before them")
	}
	w.endJob("after", "Complete")
	o := w.operates("web", "Succeeded", "PreSync first Succeeded, PreSync before Succeeded, PostSync after Succeeded")
	if got := listed(w.inSync("web")); got != "ConfigMap web Synced, hook Job before, hook Job after" {
		t.Errorf("it lists %s", got)
	}
	if w.isThere(jobs, "alarm") {
		t.Error("the hook of a failure was made")
	}
	if slices.ContainsFunc(entries(o, "status", "resources"), func(r map[string]any) bool { return r["kind"] == "Job" && (r["hook"] != true || r["status"] != nil) }) {
		t.Error("a hook is compared")
	}

	// Drift is put back without hooks, and an order about one object has none.
	w.undone(w.Watch(t, configmaps, w.ns, "web"), func() { w.kubectl("patch", "configmap", "web", "--type=merge", "-p", `{"data":{"k":"drift"}}`) },
		func(o *unstructured.Unstructured) bool { return value(o, "k") == "drift" }, func(o *unstructured.Unstructured) bool { return value(o, "k") != "drift" })
	if phase, message := w.order("web", `{"sync":{"resources":[{"kind":"ConfigMap","name":"web"}]}}`); phase != "Succeeded" {
		t.Errorf("an order about one object: %s %s", phase, message)
	}
	if now := w.exists(jobs, "before"); now.GetUID() != before.GetUID() {
		t.Error("a hook has run again")
	}

	// With a new revision they run again, and one that fails ends the operation before any object is written.
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": replace(t, plainHooks("2"), `"k":"web"`, `"k":"two"`)}), "two")
	w.exists(jobs, "first")
	waits = w.operates("web", "Running", "PreSync first Running")
	if sync, got := text(waits, "status", "sync", "status"), listed(waits); sync != "OutOfSync" || got != "ConfigMap web OutOfSync, hook Job first, hook Job after, hook Job before" {
		t.Errorf("while the first hook of a new revision runs the Application is %s, and lists %s", sync, got)
	}
	w.endJob("first", "Failed")
	w.exists(jobs, "alarm")
	w.endJob("alarm", "Complete")
	o = w.operates("web", "Failed", "PreSync first Failed, SyncFail alarm Succeeded")
	if message := text(o, "status", "operationState", "message"); !strings.Contains(message, "failed PreSync: hook Job.batch "+w.ns+"/first (app/all.yaml:") {
		t.Errorf("the message is %s", message)
	}
	if got := w.kubectl("get", "configmap", "web", "-o", "jsonpath={.data.k}"); got != "web" {
		t.Errorf("the object was written all the same: %s", got)
	}

	// What the newest operation has left goes with the app, but for what is kept, and what is of another one by now.
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": replace(t, configMap("web"), `"k":"web"`, `"k":"three"`) +
		jobHook("before", "argocd.argoproj.io/hook: PreSync", "3") +
		jobHook("stays", "argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-options: Delete=false", "3") +
		jobHook("taken", "argocd.argoproj.io/hook: PreSync", "3")}), "three")
	for _, name := range []string{"before", "stays", "taken"} {
		w.await(w.Watch(t, jobs, w.ns, name), func(o *unstructured.Unstructured) bool {
			return strings.Contains(fmt.Sprint(o.Object["spec"]), "value:3")
		})
		w.endJob(name, "Complete")
	}
	w.operates("web", "Succeeded", "PreSync before Succeeded, PreSync stays Succeeded, PreSync taken Succeeded")
	w.delete(jobs, w.ns, "taken")
	w.goes(jobs, "taken")
	w.Apply(t, strings.ReplaceAll(jobHook("taken", "argocd.argoproj.io/hook: PreSync", "mine"), "metadata: {", "metadata: {namespace: "+w.ns+", "))
	w.kubectl("patch", "application", "web", "--type=merge", "-p", `{"metadata":{"finalizers":["resources-finalizer.argocd.argoproj.io"]}}`)
	w.delete(applications, w.ns, "web")
	w.goes(configmaps, "web")
	w.goes(jobs, "before")
	w.goes(jobs, "after") // an earlier operation has left it
	if !w.isThere(jobs, "stays") || !w.isThere(jobs, "taken") {
		t.Error("a hook that is kept, or another's, was deleted")
	}
}

// images are those that the status sums up.
func images(o *unstructured.Unstructured) string {
	all, _, _ := unstructured.NestedStringSlice(o.Object, "status", "summary", "images")
	return fmt.Sprint(all)
}

// listed are the objects that the status lists, each with its kind and sync status.
func listed(o *unstructured.Unstructured) string {
	var out []string
	for _, r := range entries(o, "status", "resources") {
		if r["hook"] == true {
			out = append(out, fmt.Sprintf("hook %s %s", r["kind"], r["name"]))
			continue
		}
		out = append(out, fmt.Sprintf("%s %s %s", r["kind"], r["name"], r["status"]))
	}
	return strings.Join(out, ", ")
}

func hooksOfWaves(value string) string {
	return configMap("web") +
		jobHook("one", "argocd.argoproj.io/hook: PreSync", value) +
		jobHook("other", "argocd.argoproj.io/hook: PreSync", value) +
		jobHook("third", "argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: \"1\"", value)
}

func TestHooksOfOneWaveRunAtOnce(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+hooksOfWaves("1"))
	w.application("web", "app", "\nsyncPolicy: {automated: {}, retry: {limit: 0}}")
	w.exists(jobs, "one")
	w.exists(jobs, "other")
	w.endJob("other", "Complete")
	w.operates("web", "Running", "PreSync one Running, PreSync other Succeeded")
	if w.isThere(jobs, "third") {
		t.Error("a hook of the next wave is there while one of this wave runs")
	}
	w.endJob("one", "Complete")
	third := w.exists(jobs, "third")
	w.endJob("third", "Complete")
	w.operates("web", "Succeeded", "PreSync one Succeeded, PreSync other Succeeded, PreSync third Succeeded")

	// One that fails ends the operation when the others of its wave have ended.
	w.repo.Commit(map[string]string{"app/all.yaml": hooksOfWaves("2")}, "two")
	w.operates("web", "Running", "PreSync one Running, PreSync other Running")
	w.endJob("one", "Failed")
	w.operates("web", "Running", "PreSync one Failed, PreSync other Running")
	w.endJob("other", "Complete")
	w.operates("web", "Failed", "PreSync one Failed, PreSync other Succeeded")
	if now := w.exists(jobs, "third"); now.GetUID() != third.GetUID() {
		t.Error("a hook of the next wave has run behind one that failed")
	}
}

func TestAnOperationWithoutHooks(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+configMap("web")+jobHook("before", "argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: \"-1\"", "1"))
	w.application("web", "app", "")
	w.outOfSync("web")
	if _, got := w.truce()("app", "diff", "web"); !strings.Contains(got, "hook PreSync: Job.batch "+w.ns+"/before would run (app/all.yaml:") {
		t.Errorf("app diff does not say which hook would run:\n%s", got)
	}
	if phase, message := w.order("web", `{"sync":{"syncStrategy":{"apply":{}}}}`); phase != "Succeeded" || !w.isThere(configmaps, "web") {
		t.Errorf("the operation without hooks: %s %s", phase, message)
	}
	if w.isThere(jobs, "before") {
		t.Error("a hook was made")
	}
}

// TestTheStatusHasWhatIsThereOfHooks: each hook that an operation has left, as long as it is there; what is never applied; and the live image of what could
// not be applied.
func TestTheStatusHasWhatIsThereOfHooks(t *testing.T) {
	all := func(hook, image string) string {
		return strings.ReplaceAll(configMap("web"), `"k":"web"`, `"k":"`+hook+`"`) + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: aside, annotations: {argocd.argoproj.io/hook: Skip}}\n" +
			strings.ReplaceAll(jobHook("task", "", "1"), "busybox:1.37", image) +
			strings.ReplaceAll(jobHook(hook, "argocd.argoproj.io/hook: PreSync", "1"), "busybox:1.37", "hook:"+hook)
	}
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+all("one", "busybox:1.37"))
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true}, retry: {limit: 0}}")
	w.exists(jobs, "one")
	w.endJob("one", "Complete")
	w.inSync("web")
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": all("two", "busybox:1.37")}), "two")
	w.exists(jobs, "two")
	w.endJob("two", "Complete")
	shown := func(o *unstructured.Unstructured) string {
		return strings.ReplaceAll(listed(o), "%!s(<nil>)", "unknown")
	}
	if got := shown(w.inSync("web")); got != "ConfigMap web Synced, Job task Synced, ConfigMap aside unknown, hook Job two, hook Job one" {
		t.Errorf("it lists %s", got)
	}
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": all("two", "busybox:2")}), "refused")
	if got := images(w.outOfSync("web")); got != "[busybox:1.37 hook:one hook:two]" {
		t.Errorf("the images are %s", got)
	}
	w.delete(jobs, w.ns, "one")
	w.goes(jobs, "one")
	w.refresh("web")
	o := w.becomes("web", func(o *unstructured.Unstructured) bool { return !strings.Contains(listed(o), "Job one") })
	if got := images(o); got != "[busybox:1.37 hook:two]" {
		t.Errorf("after a hook was deleted the images are %s", got)
	}
}
