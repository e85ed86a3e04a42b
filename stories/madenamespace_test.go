package stories

import (
	"fmt"
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAHookRunsInANamespaceThatTheApplicationCreates: the namespace comes before all hooks, and the operation lists it, as in Argo CD.
func TestAHookRunsInANamespaceThatTheApplicationCreates(t *testing.T) {
	hook := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: before, annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/sync-wave: \"-9\"}}\n"
	w := newArgoWorld(t, policy.Policy{}, "-- app/hook.yaml --\n"+hook+"-- app/web.yaml --\n"+configMap("web"))
	made := w.ns + "-made"
	spec := replace(t, w.applicationText("web", "app", "\nsyncPolicy: {automated: {}, retry: {limit: 0}, syncOptions: [CreateNamespace=true]}"), "svc, namespace: "+w.ns, "svc, namespace: "+made)
	w.Apply(t, spec)
	t.Cleanup(w.removeApps)
	t.Cleanup(func() { w.delete(namespaces, "", made) })
	listed := func() (out []string) {
		o := w.becomes("web", func(o *unstructured.Unstructured) bool {
			return text(o, "status", "operationState", "finishedAt") != ""
		})
		for _, r := range entries(o, "status", "operationState", "syncResult", "resources") {
			out = append(out, fmt.Sprint(r["syncPhase"], " ", r["kind"], ": ", r["message"]))
		}
		if phase := text(o, "status", "operationState", "phase"); phase != "Succeeded" {
			t.Errorf("the operation has %s: %s", phase, text(o, "status", "operationState", "message"))
		}
		return out
	}
	want := []string{"PreSync Namespace: namespace/" + made + " created", "PreSync ConfigMap: <nil>", "Sync ConfigMap: configmap/web serverside-applied"}
	if got := listed(); !slices.Equal(got, want) {
		t.Errorf("the operation lists %q, want %q", got, want)
	}
}

// TestAHookRunsInANamespaceThatAReleaseCreates: the release is stored there, too.
func TestAHookRunsInANamespaceThatAReleaseCreates(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartForHelm)
	made := w.ns + "-made"
	w.release("web", "  targetNamespace: "+made+"\n  storageNamespace: "+made+"\n  releaseName: web\n  install: {createNamespace: true}\n  values: {image: \"nginx:1.21.1\"}\n")
	t.Cleanup(func() { w.delete(namespaces, "", made) })
	w.helmReason("Ready", "True", "InstallSucceeded", "web.v1 with chart web@1.0.0")
}
