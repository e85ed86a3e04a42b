package stories

import (
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Finalizers of Argo CD for hooks at the end of an Application.
const (
	preDeleteFinalizer  = "pre-delete-finalizer.argocd.argoproj.io"
	postDeleteFinalizer = "post-delete-finalizer.argocd.argoproj.io"
)

func hooksOfTheEnd(value string) string {
	return configMap("web") +
		jobHook("backup", "argocd.argoproj.io/hook: PreDelete, argocd.argoproj.io/hook-delete-policy: HookFailed", value) +
		jobHook("notify", "helm.sh/hook: post-delete", value)
}

// heldBy waits until the Application has these finalizers, besides that for its objects.
func (w *world) heldBy(name string, finalizers ...string) {
	w.t.Helper()
	w.becomes(name, func(o *unstructured.Unstructured) bool {
		have := slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return strings.HasPrefix(f, "resources-") })
		return slices.Equal(slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(finalizers)))
	})
}

func TestHooksOfTheEndOfAnApplication(t *testing.T) {
	w := newArgoWorld(t, app.Policy{}, "-- app/all.yaml --\n"+hooksOfTheEnd("1"))
	w.application("web", "app", automated)
	w.inSync("web")
	w.heldBy("web", preDeleteFinalizer, preDeleteFinalizer+"/cleanup", postDeleteFinalizer, postDeleteFinalizer+"/cleanup")
	if w.isThere(jobs, "backup") || w.isThere(jobs, "notify") {
		t.Error("a hook of the end has run in an operation")
	}

	// A hook before the objects blocks the deletion: while it runs, and when it has failed.
	w.kubectl("delete", "application.argoproj.io/web", "--wait=false")
	w.exists(jobs, "backup")
	t.Log(w.argoCondition("web", "Notice", "waiting for PreDelete hook Job.batch "+w.ns+"/backup"))
	w.endJob("backup", "Failed")
	t.Log(w.argoCondition("web", "DeletionError", "failed PreDelete: hook Job.batch "+w.ns+"/backup (app/all.yaml:"))
	w.goes(jobs, "backup") // its policy asks for that
	if !w.isThere(configmaps, "web") || w.isThere(jobs, "notify") {
		t.Error("the objects are gone although the hook before them has failed")
	}

	// Another revision runs it again. The objects go when it has succeeded, and the last hook runs when they are gone.
	w.repo.Commit(map[string]string{"app/all.yaml": hooksOfTheEnd("2")}, "two")
	w.exists(jobs, "backup")
	w.patch(configmaps, "web", map[string]any{"metadata": map[string]any{"finalizers": []any{"stories.truce.dev/hold"}}}, "stories")
	w.endJob("backup", "Complete")
	t.Log(w.argoCondition("web", "Notice", "waiting until ConfigMap "+w.ns+"/web is gone"))
	if w.isThere(jobs, "notify") {
		t.Error("the hook after the objects is there before they are gone")
	}
	w.patch(configmaps, "web", map[string]any{"metadata": map[string]any{"finalizers": nil}}, "stories")
	w.exists(jobs, "notify")
	w.goes(configmaps, "web")
	w.endJob("notify", "Complete")
	w.until("the end of the Application", func() bool { return w.get(applications, "web") == nil })
	w.goes(jobs, "notify") // Argo CD deletes a hook of the end without policies
	reads := len(w.Audit(t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Namespace == w.ns && e.Name == "backup" && e.Verb == "get"
	}))
	if t.Logf("%d reads of the hook", reads); reads > 60 {
		t.Errorf("%d reads of a hook whose changes are events", reads)
	}
	if !w.isThere(jobs, "backup") {
		t.Error("a hook that has succeeded is gone, and its policy does not ask for that")
	}
}
