package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mortalJob is a Job that the cluster deletes so many seconds after its end.
func mortalJob(name string, seconds int, value string) string {
	return fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  managedBy: stories.truce.dev/hand
  ttlSecondsAfterFinished: %d
  template:
    spec:
      restartPolicy: Never
      containers: [{name: run, image: "busybox:1.37", env: [{name: OF, value: "%s"}]}]
`, name, seconds, value)
}

// runs is how often the story's Job of a name was created.
func (w *world) runs(name string) int {
	w.t.Helper()
	return len(w.Audit(w.t, func(e kubetest.Entry) bool {
		return e.Namespace == w.ns && e.Resource.Resource == "jobs" && e.Subresource == "" && !e.DryRun && e.Name == name && e.Verb == "patch" && e.Code == 201
	}))
}

// expires ends a Job, and waits until the cluster has deleted it.
func (w *world) expires(name, condition string) {
	w.t.Helper()
	r := w.Watch(w.t, jobs, w.ns, name)
	w.endJob(name, condition)
	r.AwaitDeleted(w.ctx)
}

// TestAJobThatHasSucceededIsDoneWhenTheClusterDeletesIt: one that asks for that with spec.ttlSecondsAfterFinished. It runs once for each form that
// it has in Git, also when truce is restarted; Flux creates it again at each interval, a migration again and again.
func TestAJobThatHasSucceededIsDoneWhenTheClusterDeletesIt(t *testing.T) {
	w := offWorld(t, configMaps("app", "a")+"-- app/job.yaml --\n"+mortalJob("migrate", 1, "1"))
	stop := w.start(policy.Policy{})
	w.app("app", "./app", "wait: true\ntimeout: 1m\ninterval: 1h\nprune: true\ntargetNamespace: "+w.ns)
	w.exists(jobs, "migrate")
	w.expires("migrate", "Complete")
	w.ready("app")
	w.check("app")
	w.edit("app/a.yaml", `"k":"a"`, `"k":"w"`)
	w.ready("app")
	w.hasRun("migrate", 1)
	run := w.truce()
	w.saysOf(run, 0, "app diff app", "no differences")
	w.saysOf(run, 0, "app get app", "finished; deleted by its ttlSecondsAfterFinished")

	stop()
	w.cache = t.TempDir()
	stop = w.start(policy.Policy{})
	w.edit("app/a.yaml", `"k":"w"`, `"k":"x"`)
	w.ready("app")
	w.check("app")
	w.hasRun("migrate", 1)

	w.edit("app/job.yaml", `value: "1"`, `value: "2"`)
	w.exists(jobs, "migrate")
	w.expires("migrate", "Complete")
	w.ready("app")
	w.hasRun("migrate", 2)

	// The end that was seen of the Job before says nothing about this one.
	w.edit("app/job.yaml", `value: "2"`, `value: "3"`)
	w.exists(jobs, "migrate")
	stop()
	w.delete(jobs, w.ns, "migrate")
	w.goes(jobs, "migrate")
	w.start(policy.Policy{})
	w.exists(jobs, "migrate")
	w.hasRun("migrate", 4)
	w.removeApps()
}

// TestAJobThatIsGoneBeforeItsTimeIsDrift: it has failed, or another has deleted it before the cluster would have.
func TestAJobThatIsGoneBeforeItsTimeIsDrift(t *testing.T) {
	w := newWorld(t, policy.Policy{}, "-- app/failed.yaml --\n"+mortalJob("failed", 1, "1")+"-- app/deleted.yaml --\n"+mortalJob("deleted", 3600, "1"))
	w.app("app", "./app", "interval: 1h\nprune: true\ntargetNamespace: "+w.ns)
	w.ready("app")
	w.expires("failed", "Failed")
	w.exists(jobs, "failed")
	w.endJob("deleted", "Complete")
	w.delete(jobs, w.ns, "deleted")
	w.until("the deleted Job to be created again", func() bool { return w.runs("deleted") == 2 })
	w.hasRun("failed", 2)
}

// hasRun fails the story if a Job was not created so many times.
func (w *world) hasRun(name string, times int) {
	w.t.Helper()
	if got := w.runs(name); got != times {
		w.t.Errorf("Job %s was created %d times, want %d", name, got, times)
	}
}

// TestAFinishedJobOfAReleaseRunsAgainWithTheNextOne: as with Helm, which creates what is not there. Between the releases it is done.
func TestAFinishedJobOfAReleaseRunsAgainWithTheNextOne(t *testing.T) {
	w := newWorld(t, policy.Policy{}, "-- charts/web/Chart.yaml --\n{apiVersion: v2, name: web, version: 1.0.0}\n-- charts/web/values.yaml --\nk: v\n-- charts/web/templates/job.yaml --\n"+
		mortalJob("migrate", 1, "1")+"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {k: \"{{ .Values.k }}\"}}\n")
	w.release("web", "  driftDetection: {mode: enabled}\n")
	w.exists(jobs, "migrate")
	w.expires("migrate", "Complete")
	w.released("web", 1, "1.0.0")
	w.looksAgain("web", "1")
	w.released("web", 1, "1.0.0")
	w.hasRun("migrate", 1)
	w.edit("charts/web/Chart.yaml", "1.0.0", "1.1.0")
	w.exists(jobs, "migrate")
	w.expires("migrate", "Complete")
	w.released("web", 2, "1.1.0")
	w.looksAgain("web", "2")
	w.hasRun("migrate", 2)
}

// TestASyncOfAFinishedJobRunsItAgain: an operation that names it. One of the whole Application does not.
func TestASyncOfAFinishedJobRunsItAgain(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a")+"-- app/job.yaml --\n"+mortalJob("migrate", 1, "1"))
	w.application("app", "app", manually)
	w.outOfSync("app")
	if phase, message := w.order("app", `{"sync":{}}`); phase != "Succeeded" {
		t.Fatalf("%s %s", phase, message)
	}
	w.expires("migrate", "Complete")
	w.inSync("app")
	if phase, message := w.order("app", `{"sync":{}}`); phase != "Succeeded" {
		t.Fatalf("%s %s", phase, message)
	}
	w.hasRun("migrate", 1)
	o := w.becomes("app", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	if got := why(o, "migrate"); got != "Healthy finished; deleted by its ttlSecondsAfterFinished" {
		t.Errorf("the health of the Job is %q", got)
	}
	if phase, message := w.order("app", `{"sync":{"resources":[{"group":"batch","kind":"Job","name":"migrate"}]}}`); phase != "Succeeded" {
		t.Fatalf("%s %s", phase, message)
	}
	w.exists(jobs, "migrate")
	w.hasRun("migrate", 2)
	w.expires("migrate", "Complete")
	w.inSync("app")
}
