package stories

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

const fourToDelete = `
-- waits/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: waits, namespace: NAMESPACE, finalizers: [stories.truce.dev/hold]}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: waits-no-longer, namespace: NAMESPACE}}
-- gives-up/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: gives-up, namespace: NAMESPACE, finalizers: [stories.truce.dev/hold]}}
-- deletes/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: deletes, namespace: NAMESPACE}}
-- orphans/cm.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: orphans, namespace: NAMESPACE}}
`

// TestADeletionPolicySaysWhatBecomesOfTheObjects: as in Flux, whatever spec.prune says. WaitForTermination ends when the objects are gone, without a
// look at them meanwhile, or after the timeout.
func TestADeletionPolicySaysWhatBecomesOfTheObjects(t *testing.T) {
	w := newWorld(t, policy.Policy{}, fourToDelete)
	w.fileSource("repo", w.repo)
	made := func(name, spec string) {
		w.kustomization(name, "repo", "interval: 1h\npath: ./"+name+"\n"+spec)
	}
	made("waits", "prune: false\ndeletionPolicy: WaitForTermination")
	made("gives-up", "prune: true\ntimeout: 30s\ndeletionPolicy: WaitForTermination")
	made("deletes", "prune: false\ndeletionPolicy: Delete")
	made("orphans", "prune: true\ndeletionPolicy: Orphan")
	for _, name := range []string{"waits", "gives-up", "deletes", "orphans"} {
		w.ready(name)
		w.kubectl("delete", "kustomization/"+name, "--wait=false")
	}
	t.Cleanup(func() {
		w.patch(configmaps, "gives-up", map[string]any{"metadata": map[string]any{"finalizers": nil}}, "stories")
	})
	w.ends("deletes")
	w.ends("orphans")
	if w.isThere(configmaps, "deletes") || !w.isThere(configmaps, "orphans") {
		t.Error("the policy of deletes or of orphans was not followed")
	}

	message := w.condition("waits", "Reconciling", func(c map[string]any, _ *unstructured.Unstructured) bool {
		return contains(c["message"], "waiting until ConfigMap "+w.ns+"/waits is gone")
	})
	t.Log(message)
	w.events("ReconciliationSucceeded", "ConfigMap/"+w.ns+"/waits deleted")
	reads := func() int {
		return len(w.Audit(t, func(e kubetest.Entry) bool {
			return w.byTruce(e) && e.Namespace == w.ns && e.Name == "waits" && e.Resource.Resource == "configmaps" && e.Verb == "get"
		}))
	}
	before := reads()
	for _, change := range []string{"1", "2", "3"} {
		w.annotate(configmaps, "waits", "stories.truce.dev/a-change", change)
	}
	w.patch(configmaps, "waits", map[string]any{"metadata": map[string]any{"finalizers": nil}}, "stories")
	w.ends("waits")
	if n := reads() - before; n > 2 {
		t.Errorf("%d reads of what it waits for, of which one was needed: when it seems to be gone", n)
	}

	w.ends("gives-up")
	if w.get(configmaps, "gives-up") == nil {
		t.Error("what holds up the end is gone: this story shows nothing")
	}
	w.eventSays("failed to wait for resources termination")
}

// ends waits until a Kustomization is not there any more, not even on its way.
func (w *world) ends(name string) {
	w.t.Helper()
	w.until("the end of "+name, func() bool { return w.get(kustomizations, name) == nil })
}
