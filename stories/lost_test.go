package stories

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/decide/fight"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestAnOrderIsCarriedOutThoughNobodyAnsweredThatItIsTakenUp(t *testing.T) {
	w := offArgoWorld(t, document3)
	w.tap = &tap{}
	w.start(policy.Policy{})
	w.application("my-app", "apps/my-app", manually)
	w.outOfSync("my-app")
	lost := w.tap.lose("/applications/my-app", `"/operation"`)
	if phase, message := w.order("my-app", `{"sync":{},"initiatedBy":{"username":"ann"}}`); phase != "Succeeded" || !lost() {
		t.Errorf("sync: %s %s; an answer was lost: %v", phase, message, lost())
	}
	if !w.isThere(deployments, "my-app") {
		t.Error("it was not made")
	}
}

func TestThatTruceIsToldToEndIsNoFailureOfAnApp(t *testing.T) {
	w := offWorld(t, document3)
	w.tap = &tap{}
	stop := w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	writing := make(chan struct{})
	written := sync.OnceFunc(func() { close(writing) })
	w.tap.set(func(r *http.Request) *http.Response {
		if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/deployments/my-app") {
			written()
			<-r.Context().Done()
		}
		return nil
	})
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	<-writing
	stop()
	w.tap.set(nil)
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.ready("my-app")
	for _, e := range w.history("my-app") {
		if e.What == journal.Failed {
			t.Errorf("the journal tells of a failure: %s", e.Reason)
		}
	}
}

// A rollback of an app whose source is suspended cannot be made, and the app says so: the revision is not fetched.
func TestARollbackInASuspendedSourceIsNotWaitedForInSilence(t *testing.T) {
	w := offWorld(t, document3)
	stop := w.start(policy.Policy{})
	w.app("my-app", "./apps/my-app", defaultSpec)
	w.ready("my-app")
	first := w.repo.Head()
	w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.ready("my-app")
	stop() // events that arrive together may be seen in any order
	w.patch(gitRepositories, "repo", map[string]any{"spec": map[string]any{"suspend": true}}, "person")
	w.annotate(kustomizations, "my-app", "truce.dev/revision", first)
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.condition("my-app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return c["status"] == "False" && contains(c["message"], "is suspended")
	})
	w.patch(gitRepositories, "repo", map[string]any{"spec": map[string]any{"suspend": false}}, "person")
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.21.0" })
}

// TestAnObjectThatWasDeletedWhileItsWatchWasAwayIsCreatedAgain is about an object of which the watch has never heard: it is created and deleted
// between two of its lists.
func TestAnObjectThatWasDeletedWhileItsWatchWasAwayIsCreatedAgain(t *testing.T) {
	w := offWorld(t, serviceAccount("first"))
	w.tap = &tap{}
	w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	back := w.tap.leave("/serviceaccounts")
	w.repo.Commit(map[string]string{"app/late.yaml": strings.ReplaceAll(strings.SplitN(serviceAccount("late"), "--\n", 2)[1], "NAMESPACE", w.ns)}, "add late")
	late := w.Watch(t, serviceAccounts, w.ns, "late")
	first := w.await(late, func(*unstructured.Unstructured) bool { return true }).GetUID()
	w.ready("app")
	w.kubectl("delete", "serviceaccount/late")
	back()
	w.await(late, func(o *unstructured.Unstructured) bool { return o.GetUID() != first })
	w.ready("app")
}

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

// serviceAccount is a file with a ServiceAccount: a kind that truce lists for nothing but its objects.
func serviceAccount(name string) string {
	return "-- app/" + name + ".yaml --\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: " + name + ", namespace: NAMESPACE}}\n"
}

// TestARequestCreatesAnObjectThatIsDeletedAgainAndAgain has a person delete an object until truce pauses. The app is not ready then, and a
// request ends the pause.
func TestARequestCreatesAnObjectThatIsDeletedAgainAndAgain(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("app", "a", "b"))
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	for n := range fight.MaxCorrections + 1 {
		was := w.get(configmaps, "a").GetUID()
		w.kubectl("delete", "configmap/a")
		pauses := false
		w.until("the object, or a pause", func() bool {
			pauses = readiness(w.get(kustomizations, "app")) == "False"
			o := w.get(configmaps, "a")
			return pauses || o != nil && o.GetUID() != was
		})
		if pauses {
			break
		}
		if n == fight.MaxCorrections {
			t.Fatalf("created %d times without a pause", n+1)
		}
	}
	w.fails("app", "ConfigMap "+w.ns+"/a is missing: ", "deleted again", "the next try is at ")
	a := w.Watch(t, configmaps, w.ns, "a")
	w.annotate(kustomizations, "app", "reconcile.fluxcd.io/requestedAt", w.token())
	w.await(a, func(*unstructured.Unstructured) bool { return true })
	w.ready("app")
}
