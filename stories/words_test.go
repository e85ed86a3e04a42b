package stories

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func contains(v any, part string) bool {
	s, _ := v.(string)
	return strings.Contains(s, part)
}

func replaceNS(s, ns string) string { return strings.ReplaceAll(s, "NS", ns) }

func image(o *unstructured.Unstructured) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if len(list) == 0 {
		return ""
	}
	c, _ := list[0].(map[string]any)
	s, _ := c["image"].(string)
	return s
}

// edit replaces a text in a file of the repository, and commits.
func (w *world) edit(path, before, after string) {
	w.t.Helper()
	text := w.repo.Git("show", "HEAD:"+path)
	if !strings.Contains(text, before) {
		w.t.Fatalf("%s does not contain %q", path, before)
	}
	w.repo.Commit(map[string]string{path: strings.ReplaceAll(text, before, after) + "\n"}, "change "+filepath.Base(path))
}

// writes returns what truce itself wrote to an object of that name, by the API server's audit log.
func (w *world) writes(name string) []kubetest.Entry {
	w.t.Helper()
	return w.Audit(w.t, func(e kubetest.Entry) bool {
		return e.Namespace == w.ns && e.Name == name && e.Resource.Resource == "deployments" && e.Writes() && w.byTruce(e)
	})
}

// onlyNecessaryWrites checks that truce wrote to the workload only for what Git changed, and for handing over.
func (w *world) onlyNecessaryWrites(name string) {
	w.t.Helper()
	handovers, applies := 0, 0
	for _, e := range w.writes(name) {
		if e.Manager == "truce-handover" {
			handovers++
		} else {
			applies++
		}
	}
	// created with the seed; let go of replicas; the new image. A commit that only changes what is ceded writes nothing.
	if handovers > 1 || applies > 3 {
		for _, e := range w.writes(name) {
			w.t.Logf("%s %s by %s: %s", e.At.Format("05.000"), e.Verb, e.Manager, e.Request)
		}
		w.t.Errorf("truce applied %d times and handed over %d times, want at most 3 and 1", applies, handovers)
	}
}

// intervals waits for n full checks of the app, as its status counts them.
func (w *world) intervals(name string, n int) {
	w.t.Helper()
	for range n {
		w.annotate(kustomizations, name, "reconcile.fluxcd.io/requestedAt", w.token())
		w.handled(name)
	}
}

func (w *world) short(short, long int) int {
	if testing.Short() {
		return short
	}
	return long
}

func (w *world) token() string {
	w.requests++
	return "r" + strings.Repeat("x", w.requests)
}

func (w *world) handled(name string) {
	w.t.Helper()
	want := "r" + strings.Repeat("x", w.requests)
	w.await(w.Watch(w.t, kustomizations, w.ns, name), func(o *unstructured.Unstructured) bool {
		got, _, _ := unstructured.NestedString(o.Object, "status", "lastHandledReconcileAt")
		return got == want
	})
}
