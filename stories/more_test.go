package stories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var (
	gitRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
)

// source creates a GitRepository with the lines of a spec.
func (w *world) source(name, spec string) {
	w.t.Helper()
	w.Apply(w.t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: %s, namespace: %s}\nspec:\n%s",
		name, w.ns, indent(spec)))
}

// kustomization creates a Kustomization with the lines of a spec, on a source of that name.
func (w *world) kustomization(name, source, spec string) {
	w.t.Helper()
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %s, namespace: %s}
spec:
  sourceRef: {kind: GitRepository, name: %s}
%s`, name, w.ns, source, indent(spec)))
	w.t.Cleanup(w.removeApps)
}

func indent(spec string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
}

// fails waits until the app's Ready condition is False with a message that has all the parts, and returns the message.
func (w *world) fails(name string, parts ...string) string {
	w.t.Helper()
	last := ""
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.t.Logf("%s: the last message was: %s", name, last)
		}
	})
	return w.condition(name, "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool {
		last = fmt.Sprint(c["status"], " ", c["reason"], ": ", c["message"])
		if c["status"] != "False" {
			return false
		}
		for _, part := range parts {
			if !contains(c["message"], part) {
				return false
			}
		}
		return true
	})
}

// objectWrites is what truce has written to users' objects, anywhere: not its own records, statuses, finalizers and events.
func (w *world) objectWrites() []kubetest.Entry {
	w.t.Helper()
	return w.Audit(w.t, func(e kubetest.Entry) bool {
		record := e.Resource.Resource == "configmaps" && strings.HasPrefix(e.Name, "truce-inventory")
		return e.Writes() && w.byTruce(e) && e.Manager != "truce-controller" && !record
	})
}

// deletes is what truce has deleted in the story's namespace, as "configmaps a".
func (w *world) deletes() []string {
	w.t.Helper()
	out := []string{}
	for _, e := range w.objectWrites() {
		if strings.HasPrefix(e.Verb, "delete") && (strings.HasPrefix(e.Namespace, w.ns) || strings.Contains(e.Name, w.ns)) {
			out = append(out, e.Resource.Resource+" "+e.Name)
		}
	}
	return out
}

// get reads an object of the story's namespace, nil if it is not there.
func (w *world) get(kind schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.t.Helper()
	d, err := dynamic.NewForConfig(w.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	read := func() (*unstructured.Unstructured, error) {
		return d.Resource(kind).Namespace(w.ns).Get(w.ctx, name, metav1.GetOptions{})
	}
	o, err := read()
	if err != nil && !errors.As(err, new(apierrors.APIStatus)) { // a stream that a busy server has reset
		o, err = read()
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// isThere reports whether an object exists and is not being deleted.
func (w *world) isThere(kind schema.GroupVersionResource, name string) bool {
	w.t.Helper()
	o := w.get(kind, name)
	return o != nil && o.GetDeletionTimestamp() == nil
}

// goes waits until there is no object of the name: one that is being deleted would swallow what the story applies next.
func (w *world) goes(kind schema.GroupVersionResource, name string) {
	w.t.Helper()
	if w.get(kind, name) == nil {
		return
	}
	r := w.Watch(w.t, kind, w.ns, name)
	if w.get(kind, name) == nil {
		return
	}
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	r.AwaitDeleted(ctx)
}

// check asks for one full check, and waits for its end.
func (w *world) check(name string) {
	w.t.Helper()
	w.intervals(name, 1)
}

// configMap prints a ConfigMap of the story's namespace.
func configMap(name string) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "NAMESPACE"}, "data": map[string]any{"k": name},
	})
	if err != nil {
		return err.Error()
	}
	return string(text) + "\n"
}

// inNamespace puts the story's namespace into the files.
func (w *world) inNamespace(files map[string]string) map[string]string {
	out := map[string]string{}
	for path, text := range files {
		out[path] = strings.ReplaceAll(text, "NAMESPACE", w.ns)
	}
	return out
}

// configMaps is a directory of ConfigMaps, as txtar.
func configMaps(dir string, names ...string) string {
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "-- %s/%s.yaml --\n%s", dir, n, configMap(n))
	}
	return b.String()
}

// putBack changes the value k of a ConfigMap, and waits until the change was seen, and the value is back.
func (w *world) putBack(r *kubetest.Recorder, name, changed, back string) {
	w.t.Helper()
	is := func(k string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return value(o, "k") == k }
	}
	w.undone(r, func() {
		w.patch(configmaps, name, map[string]any{"data": map[string]any{"k": changed}}, "kubectl-patch")
	}, is(changed), is(back))
}

// scaledBack scales my-app by hand, and waits until the change was seen, and the count is back.
func (w *world) scaledBack(r *kubetest.Recorder, to, back int64) {
	w.t.Helper()
	w.undone(r, func() { w.kubectl("scale", "deployment/my-app", fmt.Sprintf("--replicas=%d", to)) }, ofCount(to), ofCount(back))
}

func ofCount(n int64) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool { return replicas(o) == n }
}

func ofImage(name string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool { return image(o) == name }
}

// undone does something to an object, and waits until the watch has shown it changed and after that as it is to be again. That it was
// changed may be over before the edit returns, and what was so before the edit is no answer to it.
func (w *world) undone(r *kubetest.Recorder, edit func(), changed, back func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	since := len(r.Values())
	edit()
	w.inTurn(r, since, changed, back)
}

// inTurn waits until an object has been as wanted in turn since it had that many values.
func (w *world) inTurn(r *kubetest.Recorder, since int, is ...func(*unstructured.Unstructured) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	r.AwaitInTurn(ctx, since, is...)
}
