package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const teamOfGit = `
-- app/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE, labels: {team: a}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: web, image: "web:1"}]}
`

// TestAdmissionThatChangesWhatGitNames is a difference as long as the policy is there, and Git's values come back when it goes.
func TestAdmissionThatChangesWhatGitNames(t *testing.T) {
	w := offWorld(t, teamOfGit)
	w.teamPolicy()
	w.start(policy.Policy{})
	w.app("app", "./app", defaultSpec)
	web := w.Watch(t, deployments, w.ns, "web")
	w.ready("app")
	w.await(web, func(o *unstructured.Unstructured) bool { return o.GetLabels()["team"] == "policy" && grace(o) == 77 })
	w.fieldTells("app", "admission changes this: MutatingAdmissionPolicy "+w.ns+" (inferred)")
	w.readyTells("app", "2 fields changed by admission: Deployment "+w.ns+"/web .metadata.labels.team by MutatingAdmissionPolicy "+w.ns, true)

	before := len(w.objectWrites())
	w.check("app") // no loop: each full check asks once, and writes nothing
	w.check("app")
	w.wroteNothingSince(before)

	by := func(who string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return o.GetAnnotations()["by"] == who }
	}
	w.undone(web, func() { w.kubectl("annotate", "deployment/web", "by=hand") }, by("hand"), by("")) // both writes go through the same policy
	w.kubectl("delete", "mutatingadmissionpolicybinding/"+w.ns)
	w.await(web, func(o *unstructured.Unstructured) bool { return o.GetLabels()["team"] == "a" && grace(o) == 1 })
	w.readyTells("app", "changed by admission", false)
}

// TestAdmissionThatBeginsLater is met by the first correction, which reports that it restored nothing.
func TestAdmissionThatBeginsLater(t *testing.T) {
	w := newWorld(t, policy.Policy{}, teamOfGit)
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	web := w.Watch(t, deployments, w.ns, "web")
	w.teamPolicy()
	w.kubectl("label", "deployment/web", "team=b", "--overwrite")
	w.await(web, func(o *unstructured.Unstructured) bool { return o.GetLabels()["team"] == "policy" })
	w.readyTells("app", "2 fields changed by admission", true)
	before := len(w.objectWrites())
	w.check("app")
	w.wroteNothingSince(before)
}

// TestDriftInAFieldThatAdmissionChangesIsReported: what it makes of Git's value is what drift is put back to, as in a policy that rewrites images to a mirror.
func TestDriftInAFieldThatAdmissionChangesIsReported(t *testing.T) {
	w := newWorld(t, policy.Policy{}, teamOfGit)
	w.admit("CREATE, UPDATE", `
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{metadata: Object.metadata{labels: {"team":
          !has(object.metadata.labels) || !("team" in object.metadata.labels) ? "of-none" :
          object.metadata.labels["team"].startsWith("of-") ? object.metadata.labels["team"] : "of-" + object.metadata.labels["team"]}}}
`)
	w.inForce("team")
	w.app("app", "./app", defaultSpec)
	w.ready("app")
	web := w.Watch(t, deployments, w.ns, "web")
	w.kubectl("label", "deployment/web", "team=of-person", "--overwrite")
	label := func(want string) func(*unstructured.Unstructured) bool {
		return func(o *unstructured.Unstructured) bool { return o.GetLabels()["team"] == want }
	}
	w.inTurn(web, 0, label("of-person"), label("of-a"))
	w.until("the correction in the journal", func() bool { return len(w.happened("app", journal.Corrected)) == 1 })
}

func grace(o *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(o.Object, "spec", "template", "spec", "terminationGracePeriodSeconds")
	return n
}

// teamPolicy sets a label and a number that Git names in Deployments of the story's namespace.
func (w *world) teamPolicy() {
	w.t.Helper()
	w.admit("CREATE, UPDATE", `
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{
          metadata: Object.metadata{labels: {"team": "policy"}},
          spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{terminationGracePeriodSeconds: 77}}}}
`)
	w.inForce("team")
}
