package stories

import (
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
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
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+hooksOfTheEnd("1"))
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
	w.removeFinalizers("web")
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

// TestHooksOfTheEndThatFail block a deletion, before the objects and after them, and run again on a refresh.
func TestHooksOfTheEndThatFail(t *testing.T) {
	hooks := configMap("web") + jobHook("backup", "argocd.argoproj.io/hook: PreDelete", "1") + jobHook("notify", "argocd.argoproj.io/hook: PostDelete", "1")
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+hooks+"-- stays/all.yaml --\n"+strings.NewReplacer("backup", "stays-backup", "notify", "stays-notify", "web", "stays").Replace(hooks))
	w.application("web", "app", automated)
	w.Apply(t, replace(t, w.applicationText("stays", "stays", automated), ", finalizers: [resources-finalizer.argocd.argoproj.io]", ""))
	w.inSync("web")
	w.inSync("stays")
	w.heldBy("web", preDeleteFinalizer, preDeleteFinalizer+"/cleanup", postDeleteFinalizer, postDeleteFinalizer+"/cleanup")

	// Without the finalizer for its objects an Application ends at once: they stay, and no hook runs.
	w.kubectl("delete", "application.argoproj.io/stays")
	w.kubectl("delete", "application.argoproj.io/web", "--wait=false")
	w.failsAndRunsAgain("web", "PreDelete", "backup")
	if !w.isThere(configmaps, "web") {
		t.Error("the objects are gone although the hook before them has failed")
	}
	w.endJob("backup", "Complete")
	w.failsAndRunsAgain("web", "PostDelete", "notify")
	if w.isThere(configmaps, "web") {
		t.Error("the hook after the objects has run before they are gone")
	}
	w.endJob("notify", "Complete")
	w.until("the end of the Application", func() bool { return w.get(applications, "web") == nil })
	if !w.isThere(configmaps, "stays") || w.isThere(jobs, "stays-backup") || w.isThere(jobs, "stays-notify") {
		t.Error("an Application without the finalizer has ended with its objects, or with hooks")
	}
}

// failsAndRunsAgain has a hook of a deletion fail, and refreshes the Application, which runs it again.
func (w *world) failsAndRunsAgain(name, event, hook string) {
	w.t.Helper()
	before := w.exists(jobs, hook)
	w.endJob(hook, "Failed")
	w.t.Log(w.argoCondition(name, "DeletionError", "failed "+event+": hook Job.batch "+w.ns+"/"+hook+" (app/all.yaml:"))
	w.refresh(name)
	w.await(w.Watch(w.t, jobs, w.ns, hook), func(o *unstructured.Unstructured) bool { return o.GetUID() != before.GetUID() })
}

// TestDefinitionsOutliveTheirApplication: as in Argo CD, which never deletes a CustomResourceDefinition with an Application. The custom resources of others
// would go with it.
func TestDefinitionsOutliveTheirApplication(t *testing.T) {
	const kind = `
-- app/kind.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.NAMESPACE.example.com}
spec:
  group: NAMESPACE.example.com
  names: {kind: Gadget, plural: gadgets}
  scope: Namespaced
  versions: [{name: v2, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
-- app/a.yaml --
apiVersion: NAMESPACE.example.com/v2
kind: Gadget
metadata: {name: a, namespace: NAMESPACE}
`
	w := newArgoWorld(t, policy.Policy{}, kind)
	w.application("web", "app", automated)
	w.inSync("web")
	w.Apply(t, "apiVersion: "+w.ns+".example.com/v2\nkind: Gadget\nmetadata: {name: of-others, namespace: "+w.ns+"}\nspec: {size: 3}\n")
	w.kubectl("delete", "application.argoproj.io/web", "--timeout="+patience.String())
	w.goes(w.gadgets(), "a")
	if !w.isThere(w.gadgets(), "of-others") {
		t.Error("the definition was deleted with the Application, and a custom resource of others with it")
	}
	w.kubectl("delete", "crd", "gadgets."+w.ns+".example.com", "--timeout="+patience.String())
}
