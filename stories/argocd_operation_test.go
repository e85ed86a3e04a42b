package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestTheFieldOperationStaysUntilItsEnd: clients of Argo CD look there for what they end and wait for. A restart goes on with it, and another one that is
// asked for meanwhile follows.
func TestTheFieldOperationStaysUntilItsEnd(t *testing.T) {
	w := offArgoWorld(t, "-- app/all.yaml --\n"+configMap("web")+jobHook("before", "argocd.argoproj.io/hook: PreSync", "1"))
	stop := w.start(policy.Policy{})
	w.application("web", "app", manually)
	w.outOfSync("web")
	ask := func(operation string) {
		w.kubectl("patch", "application.argoproj.io/web", "--type=json", "-p", `[{"op":"add","path":"/operation","value":`+operation+`}]`)
	}
	ask(`{"sync":{"prune":true}}`)
	first := w.exists(jobs, "before").GetUID()
	if o := w.operates("web", "Running", "PreSync before Running"); o.Object["operation"] == nil {
		t.Error("the field operation is gone while the operation is under way")
	}
	w.saysOf(w.truce(), 2, "app sync web --async", "another operation is already in progress")
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.refresh("web")
	if now := w.exists(jobs, "before").GetUID(); now != first {
		t.Error("the hook has run again after a restart")
	}
	ask(`{"sync":{},"initiatedBy":{"username":"ann"}}`)
	w.endJob("before", "Complete")
	isAnns := func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "operation", "initiatedBy", "username") == "ann"
	}
	o := w.becomes("web", func(o *unstructured.Unstructured) bool {
		return isAnns(o) && hookResults(o) == "PreSync before Running"
	})
	if o.Object["operation"] == nil {
		t.Error("the field of the second operation is gone while it is under way")
	}
	if now := w.exists(jobs, "before").GetUID(); now == first {
		t.Error("the second operation runs with the hook of the first")
	}
	w.saysOf(w.truce(), 0, "app terminate-op web", "application/web operation terminating")
	w.becomes("web", func(o *unstructured.Unstructured) bool {
		return o.Object["operation"] == nil && isAnns(o) && text(o, "status", "operationState", "phase") == "Failed"
	})
	w.refresh("web")
	if w.isThere(jobs, "before") {
		t.Error("the operation that was ended runs again")
	}
}

// TestAnApplicationThatIsSkippedFromTheStartHasNoStatus: an empty one would say that it was compared.
func TestAnApplicationThatIsSkippedFromTheStartHasNoStatus(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+configMap("web"))
	w.Apply(t, replace(t, w.applicationText("web", "app", ""), "metadata: {name: web,", `metadata: {name: web, annotations: {argocd.argoproj.io/skip-reconcile: "true"},`))
	t.Cleanup(w.removeApps)
	w.refresh("web")
	if status := w.getApplication("web").Object["status"]; status != nil {
		t.Errorf("it has the status %v", status)
	}
	w.kubectl("annotate", "application.argoproj.io/web", "argocd.argoproj.io/skip-reconcile-")
	w.outOfSync("web")
}
