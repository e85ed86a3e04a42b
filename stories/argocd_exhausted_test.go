package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// fixedObject is an object of which the API server refuses each change.
func fixedObject(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed}\nimmutable: true\ndata: {k: " + value + "}\n"
}

// TestAnAutomatedOperationIsNotTriedBeyondItsRetries: as in Argo CD what could not be applied waits for another revision, a sync or another spec. What
// was applied stays as Git has it.
func TestAnAutomatedOperationIsNotTriedBeyondItsRetries(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/web.yaml --\n"+configMap("web")+"-- app/fixed.yaml --\n"+fixedObject("one"))
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 1, backoff: {duration: 10ms}}}")
	w.inSync("web")
	web := func(value string) string { return strings.Replace(configMap("web"), `"k":"web"`, `"k":"`+value+`"`, 1) }
	w.repo.Commit(w.inNamespace(map[string]string{"app/web.yaml": web("two"), "app/fixed.yaml": fixedObject("two")}), "two")
	failed := w.becomes("web", func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount")
		return n == 1 && text(o, "status", "operationState", "phase") == "Failed"
	})
	ended := text(failed, "status", "operationState", "finishedAt")
	w.delete(configmaps, w.ns, "fixed")
	w.goes(configmaps, "fixed")
	stands := func() {
		t.Helper()
		w.refresh("web")
		w.refresh("web")
		o := w.outOfSync("web")
		if n, _, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount"); n != 1 || text(o, "status", "operationState", "phase") != "Failed" ||
			text(o, "status", "operationState", "finishedAt") != ended {
			t.Errorf("the operation has begun again: %v", o.Object["status"].(map[string]any)["operationState"])
		}
		if w.isThere(configmaps, "fixed") {
			t.Error("an object is made that the operation has failed to apply")
		}
		w.argoCondition("web", "SyncError", "immutable")
		for _, r := range entries(o, "status", "resources") {
			if r["name"] == "fixed" && r["status"] != "OutOfSync" {
				t.Errorf("the object that could not be applied is %v", r)
			}
		}
	}
	stands()

	// Drift of the other object is put back.
	w.undone(w.Watch(t, configmaps, w.ns, "web"), func() { w.kubectl("patch", "configmap", "web", "--type=merge", "-p", `{"data":{"k":"drift"}}`) },
		func(o *unstructured.Unstructured) bool { return value(o, "k") == "drift" }, func(o *unstructured.Unstructured) bool { return value(o, "k") == "two" })
	stands()

	// Another revision is tried.
	w.repo.Commit(w.inNamespace(map[string]string{"app/web.yaml": web("three")}), "three")
	if o := w.inSync("web"); text(o, "status", "operationState", "phase") != "Succeeded" || !w.isThere(configmaps, "fixed") {
		t.Errorf("with another revision the operation is %s", text(o, "status", "operationState", "phase"))
	}
}

// TestASyncOrAnotherSpecTriesWhatHasFailed: what an automated operation has given up is tried when a person asks for it.
func TestASyncOrAnotherSpecTriesWhatHasFailed(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]string{
		"a sync": `{"operation":{"sync":{}}}`, "another spec": `{"spec":{"syncPolicy":{"retry":{"limit":2}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newArgoWorld(t, policy.Policy{}, "-- app/fixed.yaml --\n"+fixedObject("one")+"-- app/web.yaml --\n"+configMap("web"))
			w.application("web", "app", "\nsyncPolicy: {automated: {selfHeal: true}, retry: {limit: 0}}")
			w.inSync("web")
			w.repo.Commit(map[string]string{"app/fixed.yaml": fixedObject("two")}, "two")
			w.argoCondition("web", "SyncError", "immutable")
			w.delete(configmaps, w.ns, "fixed")
			w.goes(configmaps, "fixed")
			w.refresh("web")
			if w.isThere(configmaps, "fixed") {
				t.Error("an object is made that the operation has failed to apply")
			}
			w.kubectl("patch", "application.argoproj.io/web", "--type=merge", "-p", ask)
			w.exists(configmaps, "fixed")
			w.inSync("web")
		})
	}
}

// TestAKindThatIsServedLateIsAppliedAfterTheRetries: that it was not served is no failure of what Git describes, and passes without a commit.
func TestAKindThatIsServedLateIsAppliedAfterTheRetries(t *testing.T) {
	w := offArgoWorld(t, "-- app/web.yaml --\n"+configMap("web")+"-- app/thing.yaml --\napiVersion: NAMESPACE.example/v1\nkind: Thing\nmetadata: {name: late}\n")
	stop := w.start(policy.Policy{})
	w.application("web", "app", "\nsyncPolicy: {automated: {selfHeal: true}, retry: {limit: 1, backoff: {duration: 10ms}}}")
	w.becomes("web", func(o *unstructured.Unstructured) bool {
		n, _, _ := unstructured.NestedInt64(o.Object, "status", "operationState", "retryCount")
		return n > 1 && text(o, "status", "operationState", "phase") == "Failed"
	})
	for range 3 { // the same answer three times is believed
		w.refresh("web")
	}
	stop()
	w.start(policy.Policy{})
	w.refresh("web")
	group := w.ns + ".example"
	w.Apply(t, strings.ReplaceAll(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`, "GROUP", group))
	t.Cleanup(func() { w.delete(crds, "", "things."+group) })
	w.until("the kind to be served", func() bool { return strings.Contains(w.kubectl("api-resources", "--api-group="+group), "things") })
	w.refresh("web")
	w.inSync("web")
	w.exists(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}, "late")
	w.removeApps()
}
