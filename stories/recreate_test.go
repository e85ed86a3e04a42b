package stories

import (
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

const recreatable = `
-- app/sealed.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: sealed, namespace: NAMESPACE}
immutable: true
data: {k: one}
-- app/job.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: job, namespace: NAMESPACE}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: job, image: "job:1"}]}
-- app/claim.yaml --
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: claim, namespace: NAMESPACE}
spec: {accessModes: [ReadWriteOnce], storageClassName: slow, resources: {requests: {storage: 1Gi}}}
`

// uidOf is the uid of an object that is there.
func (w *world) uidOf(o *unstructured.Unstructured) string {
	w.t.Helper()
	if o == nil {
		w.t.Fatal("the object is not there")
	}
	return string(o.GetUID())
}

// TestForceRecreatesWhatTheServerDoesNotChange: spec.force of a Kustomization. Only what the API server would create as Git has it is deleted, and
// nothing that holds data.
func TestForceRecreatesWhatTheServerDoesNotChange(t *testing.T) {
	w := newWorld(t, policy.Policy{}, recreatable)
	w.app("my-app", "./app", defaultSpec)
	w.ready("my-app")
	sealed, job, claim := w.uidOf(w.get(configmaps, "sealed")), w.uidOf(w.get(jobs, "job")), w.uidOf(w.get(claims, "claim"))
	w.edit("app/sealed.yaml", "k: one", "k: two")
	w.edit("app/job.yaml", "job:1", "job:2")
	said := w.fails("my-app", "ConfigMap "+w.ns+"/sealed", "field is immutable", `Job.batch "job" is invalid: spec.template: field is immutable; to have it deleted and created, `+
		"annotate it in Git with kustomize.toolkit.fluxcd.io/force: enabled; or delete it, and truce creates it")
	if len(said) > 1000 {
		t.Errorf("%d bytes, with what the server quotes of a template: %s", len(said), said)
	}
	if got := w.uidOf(w.get(configmaps, "sealed")); got != sealed {
		t.Error("recreated without force")
	}

	w.patch(kustomizations, "my-app", map[string]any{"spec": map[string]any{"force": true}}, "kubectl-patch")
	w.ready("my-app")
	if o := w.get(configmaps, "sealed"); w.uidOf(o) == sealed || value(o, "k") != "two" {
		t.Errorf("sealed: %v", o)
	}
	if o := w.get(jobs, "job"); w.uidOf(o) == job {
		t.Errorf("job: %v", o)
	}
	w.events("Recreated", "ConfigMap "+w.ns+"/sealed deleted, to be created as Git has it (spec.force)")
	if got := w.happened("my-app", journal.Recreated); len(got) != 2 || !strings.Contains(strings.Join(got, "\n"), `recreated sealed spec.force: apply: ConfigMap "sealed" is invalid`) {
		t.Errorf("the journal has %q", got)
	}
	for _, reason := range []string{"DriftDetected", "DriftCorrected"} { // no other writer has deleted it
		if said := w.eventsOf(reason, "my-app"); len(said) > 0 {
			t.Errorf("%s: %v", reason, said)
		}
	}

	deleted := w.deletes()
	w.edit("app/claim.yaml", "storageClassName: slow", "storageClassName: fast")
	w.patch(kustomizations, "my-app", map[string]any{"spec": map[string]any{"force": false}}, "kubectl-patch")
	if said := w.fails("my-app", "claim", "immutable"); strings.Contains(said, "delete it") {
		t.Errorf("advice to delete what holds data: %s", said)
	}
	w.patch(kustomizations, "my-app", map[string]any{"spec": map[string]any{"force": true}}, "kubectl-patch")
	w.fails("my-app", "claim", "not recreated: what it holds would be deleted with it")
	w.edit("app/claim.yaml", "storageClassName: fast", "storageClassName: slow")
	w.ready("my-app")
	w.edit("app/job.yaml", "name: job, image", "name: Not_A_Name, image")
	w.fails("my-app", "job", "it is not deleted, as a dry run cannot create it")
	if w.uidOf(w.get(claims, "claim")) != claim || !slices.Equal(w.deletes(), deleted) {
		t.Errorf("deleted: %v, before %v", w.deletes(), deleted)
	}
}

// TestAnOptionOfAnObjectHasItRecreated: Argo CD's Force=true, alone or as people write it for Jobs.
func TestAnOptionOfAnObjectHasItRecreated(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, recreatable)
	w.application("my-app", "app", automated)
	w.inSync("my-app")
	sealed, job := w.uidOf(w.get(configmaps, "sealed")), w.uidOf(w.get(jobs, "job"))
	w.edit("app/job.yaml", "job:1", "job:2")
	t.Log(w.argoCondition("my-app", "SyncError", "to have it deleted and created, annotate it in Git with argocd.argoproj.io/sync-options: Force=true"))
	w.edit("app/job.yaml", "metadata: {name: job,", `metadata: {annotations: {argocd.argoproj.io/sync-options: "Force=true,Replace=true"}, name: job,`)
	w.edit("app/sealed.yaml", "metadata: {name: sealed,", `metadata: {annotations: {argocd.argoproj.io/sync-options: Force=true}, name: sealed,`)
	w.inSync("my-app")
	if now := w.uidOf(w.get(configmaps, "sealed")); now != sealed {
		t.Error("what can be changed was recreated")
	}
	w.edit("app/sealed.yaml", "k: one", "k: two")
	w.inSync("my-app")
	if o := w.get(configmaps, "sealed"); w.uidOf(o) == sealed || value(o, "k") != "two" || w.uidOf(w.get(jobs, "job")) == job {
		t.Errorf("sealed: %v", o)
	}
	w.events("Recreated", "ConfigMap "+w.ns+"/sealed deleted, to be created as Git has it (annotation argocd.argoproj.io/sync-options: Force=true)")
}

// TestARecreatedWorkloadKeepsTheCountOfItsAutoscaler: the selector of a Deployment cannot be changed; the object's own annotation asks for force.
func TestARecreatedWorkloadKeepsTheCountOfItsAutoscaler(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document1)
	w.edit("apps/web/base/web.yaml", "name: web\nspec", "name: web\n  annotations: {kustomize.toolkit.fluxcd.io/force: enabled}\nspec")
	w.app("web", "./apps/web/production", everyFiveSeconds)
	d := w.Watch(t, deployments, w.ns, "web")
	w.ready("web")
	w.load(8)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	w.ready("web")
	before := w.uidOf(w.get(deployments, "web"))
	w.edit("apps/web/base/web.yaml", "{app: web}", "{app: web, tier: front}")
	made := w.await(d, func(o *unstructured.Unstructured) bool { return string(o.GetUID()) != before })
	if replicas(made) != 8 {
		t.Errorf("created with %d replicas, want the autoscaler's 8", replicas(made))
	}
	w.ready("web")
}

// TestAWorkloadWithoutACountInGitIsMadeAgainWithThatOfItsAutoscaler: nothing differs while the autoscaler works, so no finding has the count.
func TestAWorkloadWithoutACountInGitIsMadeAgainWithThatOfItsAutoscaler(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document1)
	w.edit("apps/web/base/web.yaml", "name: web\nspec", "name: web\n  annotations: {kustomize.toolkit.fluxcd.io/force: enabled}\nspec")
	w.repo.Commit(map[string]string{"apps/web/production/kustomization.yaml": "namespace: " + w.ns + "\nresources: [../base]\n"}, "no count")
	w.app("web", "./apps/web/production", everyFiveSeconds)
	d := w.Watch(t, deployments, w.ns, "web")
	w.ready("web")
	madeAgain := func(n int64, end func()) {
		t.Helper()
		w.load(int(n))
		w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == n })
		before, since := w.uidOf(w.get(deployments, "web")), len(d.Values())
		end()
		w.await(d, func(o *unstructured.Unstructured) bool { return string(o.GetUID()) != before })
		w.ready("web")
		for _, v := range d.Values()[since:] {
			if replicas(v.Object) < n {
				t.Fatalf("%d replicas at version %s, want the autoscaler's %d", replicas(v.Object), v.Object.GetResourceVersion(), n)
			}
		}
	}
	madeAgain(8, func() { w.edit("apps/web/base/web.yaml", "{app: web}", "{app: web, tier: front}") })
	madeAgain(10, func() { w.kubectl("delete", "deployment/web", "--cascade=orphan") })
}
