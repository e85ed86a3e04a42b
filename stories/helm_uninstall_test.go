package stories

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// chartThatStays has an object that is there until its finalizer is removed, and a hook that cleans up behind it.
const chartThatStays = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}", finalizers: [stories.truce.dev/hold]}}
-- charts/web/templates/after.yaml --
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-after
  annotations: {helm.sh/hook: post-delete}
spec:
  backoffLimit: 0
  template:
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
-- charts/other/Chart.yaml --
{apiVersion: v2, name: other, version: 1.0.0}
-- charts/other/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}, data: {of: other}}
`

// TestAnUninstallAwaitsItsObjects: as Helm does with --wait, which is Flux's default.
func TestAnUninstallAwaitsItsObjects(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartThatStays)
	for _, scene := range []struct {
		name string
		play func(*world)
	}{
		{"hooks that come last run behind the objects of a deleted HelmRelease", helmAwaitsObjects},
		{"a chart of another name is installed behind the objects of the former", helmAwaitsFormer},
		{"they are not waited for", helmAwaitsNothing},
		{"they are waited for until the timeout", helmAwaitsInVain},
	} {
		scene.play(w)
		if t.Failed() {
			t.Fatalf("in the scene: %s", scene.name)
		}
	}
}

// awaitsObject waits until a HelmRelease says that it waits for the end of the object of its name; then neither the hook nor the end of the release has come.
func (w *world) awaitsObject(name string) {
	w.t.Helper()
	w.terminates(name)
	text := fmt.Sprintf("waiting until ConfigMap %s/%s is gone", w.ns, name)
	w.until(text, func() bool {
		hr := w.get(helmReleases, name)
		if hr == nil {
			w.t.Fatalf("HelmRelease %s is gone before its objects", name)
		}
		for _, c := range entries(hr, "status", "conditions") {
			if c["type"] == "Ready" && contains(c["message"], text) {
				return true
			}
		}
		return w.isThere(jobs, name+"-after")
	})
	if got := w.storedReleases(name); got != "1:uninstalling" || w.isThere(jobs, name+"-after") {
		w.t.Errorf("before the object is gone the stored release is %s, and the hook has run: %t", got, w.isThere(jobs, name+"-after"))
	}
}

func helmAwaitsObjects(w *world) {
	w.release("web", "")
	w.released("web", 1, "1.0.0")
	w.delete(helmReleases, w.ns, "web")
	w.awaitsObject("web")
	w.removeFinalizers("web")
	w.goes(helmReleases, "web")
	if got := w.storedReleases("web"); got != "" || !w.isThere(jobs, "web-after") {
		w.t.Errorf("the stored release is %s, or the hook has not run", got)
	}
}

func helmAwaitsFormer(w *world) {
	w.release("renamed", "")
	w.released("renamed", 1, "1.0.0")
	before := w.get(configmaps, "renamed").GetUID()
	w.patch(helmReleases, "renamed", map[string]any{"spec": map[string]any{"chart": map[string]any{"spec": map[string]any{"chart": "charts/other"}}}}, "kubectl")
	w.awaitsObject("renamed")
	w.removeFinalizers("renamed")
	w.helmCondition("renamed", "Ready", func(c map[string]any) bool {
		return c["status"] == "True" && contains(c["message"], "release "+w.ns+"/renamed.v1 with chart other@1.0.0")
	})
	if o := w.get(configmaps, "renamed"); o.GetUID() == before || !w.isThere(jobs, "renamed-after") {
		w.t.Errorf("the object is the former's, or the hook has not run: %v", o.Object)
	}
}

func helmAwaitsNothing(w *world) {
	w.release("soon", "  uninstall: {disableWait: true}\n")
	w.released("soon", 1, "1.0.0")
	w.delete(helmReleases, w.ns, "soon")
	w.goes(helmReleases, "soon")
	if !w.isThere(jobs, "soon-after") || w.get(configmaps, "soon") == nil {
		w.t.Error("the hook has not run, or the object is gone")
	}
	w.removeFinalizers("soon")
}

// helmAwaitsInVain: as with Helm the hooks run then all the same, and the next try finds no release.
func helmAwaitsInVain(w *world) {
	w.release("late", "  uninstall: {timeout: 2s}\n")
	w.released("late", 1, "1.0.0")
	gone := w.Watch(w.t, helmReleases, w.ns, "late")
	w.delete(helmReleases, w.ns, "late")
	w.await(gone, func(o *unstructured.Unstructured) bool {
		for _, c := range entries(o, "status", "conditions") {
			if c["type"] == "Released" && c["reason"] == "UninstallFailed" && contains(c["message"], "timeout waiting until ConfigMap "+w.ns+"/late is gone") {
				return true
			}
		}
		return false
	})
	gone.AwaitDeleted(w.ctx)
	if got := w.storedReleases("late"); got != "" || !w.isThere(jobs, "late-after") || w.get(configmaps, "late") == nil {
		w.t.Errorf("the stored release is %s, or the hook has not run, or the object is gone", got)
	}
	w.removeFinalizers("late")
}

// TestAReleaseMovesToAnotherNamespace: under the name that it has, and where it is stored, there is room for one.
func TestAReleaseMovesToAnotherNamespace(t *testing.T) {
	w := newWorld(t, policy.Policy{}, strings.NewReplacer(", finalizers: [stories.truce.dev/hold]", "", "post-delete", "pre-install", "-after", "-before").Replace(chartThatStays))
	to := w.Namespace(t)
	isReleased := func(namespace string) {
		t.Helper()
		w.helmReason("Ready", "True", "InstallSucceeded", "release "+namespace+"/fixed.v1 with chart web@1.0.0")
	}
	w.release("web", "  releaseName: fixed\n")
	isReleased(w.ns)
	made := []*kubetest.Recorder{w.Watch(t, jobs, to, "fixed-before"), w.Watch(t, configmaps, to, "fixed")}
	w.patch(helmReleases, "web", map[string]any{"spec": map[string]any{"targetNamespace": to}}, "kubectl")
	isReleased(to)
	if got := w.storedReleases("fixed"); got != "1:deployed" || w.get(configmaps, "fixed") != nil {
		t.Errorf("stored: %s, or the object of the former release is there", got)
	}
	for _, r := range made {
		w.await(r, func(*unstructured.Unstructured) bool { return true })
	}
}
