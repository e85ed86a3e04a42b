package stories

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const skipReconcile = "argocd.argoproj.io/skip-reconcile"

// pause has an Application skipped, and waits until truce has seen that.
func (w *world) pause(name string) {
	w.t.Helper()
	w.annotate(applications, name, skipReconcile, "true")
	w.until("truce to pause "+name, func() bool {
		return w.running.Engine.Report(appKeyOf("Application", w.ns, name)).Reason == report.Suspended
	})
}

// beginSync requests a sync, and does not wait for its end.
func (w *world) beginSync(name, sync string) {
	w.t.Helper()
	w.kubectl("patch", "application.argoproj.io/"+name, "--type=merge", "-p", `{"operation":{"sync":`+sync+`}}`)
}

// TestTheDeletionOfAPausedApplicationWaits: as in Argo CD, nothing of an Application with skip-reconcile is deleted before that is taken off.
func TestTheDeletionOfAPausedApplicationWaits(t *testing.T) {
	w := offArgoWorld(t, configMaps("app", "web"))
	stop := w.start(policy.Policy{})
	w.application("web", "app", automated)
	w.inSync("web")
	w.pause("web")
	w.delete(applications, w.ns, "web")
	w.argoCondition("web", "Notice", "nothing is deleted before the annotation "+skipReconcile+" is removed")
	w.patch(configmaps, "web", map[string]any{"data": map[string]any{"k": "drift"}}, "person")
	w.outOfSync("web")
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.refresh("web")
	if o := w.get(configmaps, "web"); o == nil || o.GetDeletionTimestamp() != nil || value(o, "k") != "drift" {
		t.Errorf("the object of a paused Application is %v", o)
	}
	if o := w.getApplication("web"); !slices.Contains(o.GetFinalizers(), "resources-finalizer.argocd.argoproj.io") {
		t.Errorf("the paused Application has the finalizers %q", o.GetFinalizers())
	}
	w.annotate(applications, "web", skipReconcile, "false")
	w.until("the end of the Application", func() bool { return w.get(applications, "web") == nil })
	w.goes(configmaps, "web")
}

// TestAPausedOperationGoesOnWhenItIsResumed: a pause is no end of what a person has asked for.
func TestAPausedOperationGoesOnWhenItIsResumed(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+configMap("web")+jobHook("before", "argocd.argoproj.io/hook: PreSync", "1"))
	w.application("web", "app", manually)
	w.outOfSync("web")
	w.beginSync("web", `{}`)
	w.operates("web", "Running", "PreSync before Running")
	w.pause("web")
	w.endJob("before", "Complete")
	w.annotate(applications, "web", skipReconcile, "false")
	o := w.becomes("web", func(o *unstructured.Unstructured) bool {
		return text(o, "status", "operationState", "phase") != "Running"
	})
	if phase, why := text(o, "status", "operationState", "phase"), text(o, "status", "operationState", "message"); phase != "Succeeded" {
		t.Errorf("after the pause the operation is %s: %s", phase, why)
	}
	if !w.isThere(configmaps, "web") {
		t.Error("the operation has applied nothing")
	}
}
