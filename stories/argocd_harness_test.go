package stories

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var applications = schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}

// Parts of Applications.
const (
	manually  = ""
	automated = `
syncPolicy: {automated: {prune: true, selfHeal: true}}`
	withoutHealing = `
syncPolicy: {automated: {prune: true}}`
)

// newArgoWorld is newWorld, for stories of Applications.
func newArgoWorld(t *testing.T, process policy.Policy, files string) *world {
	t.Helper()
	return newWorld(t, process, files)
}

// offArgoWorld is offWorld, for the same.
func offArgoWorld(t *testing.T, files string) *world {
	t.Helper()
	return offWorld(t, files)
}

// application creates an Application on the story's repository, with the spec's further lines.
func (w *world) application(name, path, spec string) {
	w.t.Helper()
	w.Apply(w.t, w.applicationText(name, path, spec))
	w.t.Cleanup(w.removeApps)
}

func (w *world) applicationText(name, path, spec string) string {
	return strings.NewReplacer("NAME", name, "NS", w.ns, "REPO", w.repo.Dir, "PATH", path, "MORE", strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")).Replace(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: NAME, namespace: NS, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  source: {repoURL: "file://REPO", path: PATH, targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: NS}
  MORE
`)
}

// inSync waits until the Application is Synced to the repository's newest commit.
func (w *world) inSync(name string) *unstructured.Unstructured {
	w.t.Helper()
	head := w.repo.Head()
	return w.becomes(name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "status") == "Synced" && text(o, "status", "sync", "revision") == head
	})
}

// outOfSync waits until the Application is compared with the newest commit, and differs.
func (w *world) outOfSync(name string) *unstructured.Unstructured {
	w.t.Helper()
	head := w.repo.Head()
	return w.becomes(name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "status") == "OutOfSync" && text(o, "status", "sync", "revision") == head
	})
}

// becomes waits until the Application is as wanted.
func (w *world) becomes(name string, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	w.t.Helper()
	return w.await(w.Watch(w.t, applications, w.ns, name), is)
}

// argoCondition waits for a condition of the type, and returns its message.
func (w *world) argoCondition(name, kind, part string) string {
	w.t.Helper()
	message := ""
	w.becomes(name, func(o *unstructured.Unstructured) bool {
		for _, c := range entries(o, "status", "conditions") {
			if c["type"] == kind && contains(c["message"], part) {
				message, _ = c["message"].(string)
				return true
			}
		}
		return false
	})
	return message
}

// order sets the Application's operation, as `argocd app sync` does, and waits until it has ended. It returns the phase.
func (w *world) order(name, operation string) (phase, message string) {
	w.t.Helper()
	w.kubectl("patch", "application.argoproj.io/"+name, "--type=merge", "-p", `{"operation":`+operation+`}`)
	o := w.becomes(name, func(o *unstructured.Unstructured) bool {
		_, pending := o.Object["operation"]
		return !pending && sameOperation(o, operation) && text(o, "status", "operationState", "finishedAt") != ""
	})
	return text(o, "status", "operationState", "phase"), text(o, "status", "operationState", "message")
}

// sameOperation reports whether the newest operation is this one.
func sameOperation(o *unstructured.Unstructured, operation string) bool {
	var want map[string]any
	if json.Unmarshal([]byte(operation), &want) != nil {
		return false
	}
	have, _, _ := unstructured.NestedMap(o.Object, "status", "operationState", "operation")
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(have)
	return string(a) == string(b)
}

func (w *world) getApplication(name string) *unstructured.Unstructured {
	w.t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(w.kubectl("get", "application.argoproj.io/"+name, "-o", "json")), &o); err != nil {
		w.t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: o}
}

func text(o *unstructured.Unstructured, path ...string) string {
	s, _, _ := unstructured.NestedString(o.Object, path...)
	return s
}

func entries(o *unstructured.Unstructured, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, path...)
	var out []map[string]any
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// refresh makes truce look at the Application, and waits until it has.
func (w *world) refresh(name string) {
	w.t.Helper()
	w.kubectl("annotate", "application.argoproj.io/"+name, "argocd.argoproj.io/refresh=normal")
	w.becomes(name, func(o *unstructured.Unstructured) bool { return o.GetAnnotations()["argocd.argoproj.io/refresh"] == "" })
}

// delete deletes an object, and does not wait for it.
func (w *world) delete(gvr schema.GroupVersionResource, namespace, name string) {
	d, err := dynamic.NewForConfig(w.Config())
	if err == nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(w.t.Context()), patience)
		defer cancel()
		err = d.Resource(gvr).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	}
	if err != nil {
		w.t.Errorf("delete %s: %v", name, err)
	}
}

// last is the newest value of a watch.
func last(r *kubetest.Recorder) *unstructured.Unstructured {
	all := r.Values()
	return all[len(all)-1].Object
}
