package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestATerminatedOperationEnds: by the command, and by a patch of the status as Argo CD's server writes it; while a hook and while a wave is waited for.
func TestATerminatedOperationEnds(t *testing.T) {
	first := aJobOfWave("first", "-1") + configOfWave("web", "none", "1") + jobHook("before", "argocd.argoproj.io/hook: PreSync", "1") +
		jobHook("alarm", "argocd.argoproj.io/hook: SyncFail", "1")
	w := offArgoWorld(t, "-- app/all.yaml --\n"+first)
	stop := w.start(policy.Policy{})
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 5, backoff: {duration: 1s}}}")
	w.exists(jobs, "before")
	w.operates("web", "Running", "PreSync before Running")
	w.saysOf(w.truce(), 0, "app terminate-op web", "application/web operation terminating")
	w.goes(jobs, "before")
	o := w.operates("web", "Failed", "PreSync before Failed")
	if got := text(o, "status", "operationState", "message"); got != "Operation terminated" {
		t.Errorf("the operation ended with %q", got)
	}
	w.saysOf(w.truce(), 2, "app terminate-op web", "no operation is in progress")

	// Nothing begins it again: neither its retries, nor a look, nor another process.
	ended := text(o, "status", "operationState", "finishedAt")
	w.refresh("web")
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.refresh("web")
	if o := w.operates("web", "Failed", "PreSync before Failed"); text(o, "status", "operationState", "finishedAt") != ended {
		t.Errorf("it ended at %s, and before at %s", text(o, "status", "operationState", "finishedAt"), ended)
	}
	if w.isThere(jobs, "before") || w.isThere(jobs, "alarm") || w.isThere(jobs, "first") || w.isThere(configmaps, "web") {
		t.Error("the operation went on")
	}

	// A sync is another operation. It waits for a wave this time.
	w.saysOf(w.truce(), 0, "app sync web --async")
	w.exists(jobs, "before")
	w.endJob("before", "Complete")
	w.exists(jobs, "first")
	w.waitsFor("web", "waiting for Job.batch "+w.ns+"/first")
	w.patch(applications, "web", map[string]any{"status": map[string]any{"operationState": map[string]any{"phase": "Terminating"}}}, "argocd-server")
	w.operates("web", "Failed", "PreSync before Succeeded")
	w.endJob("first", "Complete")
	w.refresh("web")
	if w.isThere(configmaps, "web") || !w.isThere(jobs, "first") {
		t.Error("the later wave was applied, or what was applied is gone")
	}

	// So is a revision.
	before := w.Watch(t, jobs, w.ns, "before") // from before the commit: the next one of this name follows at once
	w.repo.Commit(map[string]string{"app/all.yaml": first + configOfWave("more", "none", "1")}, "more")
	before.AwaitDeleted(w.ctx)
	w.exists(jobs, "before")
	w.endJob("before", "Complete")
	w.operates("web", "Succeeded", "PreSync before Succeeded")
	w.inSync("web")
}

// TestAnOperationThatIsGivenUpEnds: nothing goes on with it when automated sync is switched off, nor when the next commit describes what is there already. It does
// not stay Running, and its hook is stopped.
func TestAnOperationThatIsGivenUpEnds(t *testing.T) {
	hooked := jobHook("before", "argocd.argoproj.io/hook: PreSync", "1")
	first, second := configMap("web")+hooked, configMap("web")+hooked+"---\n"+configMap("more")
	w := offArgoWorld(t, "-- app/all.yaml --\n"+first)
	stop := w.start(policy.Policy{})
	const spec = "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 5, backoff: {duration: 1s}}}"
	w.application("web", "app", spec)
	w.exists(jobs, "before")
	w.endJob("before", "Complete")
	w.operates("web", "Succeeded", "PreSync before Succeeded")

	// The commit is reverted while its hook runs: the cluster is as Git describes it.
	former := w.Watch(t, jobs, w.ns, "before")
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": second}), "more")
	former.AwaitDeleted(w.ctx)
	w.exists(jobs, "before")
	w.operates("web", "Running", "PreSync before Running")
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": first}), "revert")
	w.goes(jobs, "before")
	o := w.operates("web", "Failed", "PreSync before Failed")
	if got := text(o, "status", "operationState", "message"); got != "superseded by revision "+w.repo.Head() {
		t.Errorf("after the revert it ended with %q", got)
	}
	w.inSync("web")

	// Automated sync is switched off while the hook runs.
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": second}), "again")
	w.exists(jobs, "before")
	w.operates("web", "Running", "PreSync before Running")
	off := map[string]any{"spec": map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{"enabled": false}}}}
	w.patch(applications, "web", off, "person")
	w.goes(jobs, "before")
	o = w.operates("web", "Failed", "PreSync before Failed")
	if got := text(o, "status", "operationState", "message"); got != "automated sync was switched off" {
		t.Errorf("without automated sync it ended with %q", got)
	}

	// It begins from the start when automated sync is there again. An operation that an earlier process has left ends, too.
	on := map[string]any{"spec": map[string]any{"syncPolicy": map[string]any{"automated": map[string]any{"enabled": true}}}}
	w.patch(applications, "web", on, "person")
	w.exists(jobs, "before")
	w.operates("web", "Running", "PreSync before Running")
	stop()
	w.patch(applications, "web", off, "person")
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.goes(jobs, "before")
	o = w.operates("web", "Failed", "PreSync before Failed")
	if got := text(o, "status", "operationState", "message"); got != "automated sync was switched off" {
		t.Errorf("after the restart it ended with %q", got)
	}
}

// TestATerminatedHookAfterTheObjectsLeavesThemInSync: that the operation has failed says nothing about the objects, which are compared with Git as before. What it
// has not come to is out of sync, and is not applied.
func TestATerminatedHookAfterTheObjectsLeavesThemInSync(t *testing.T) {
	after := jobHook("after", "argocd.argoproj.io/hook: PostSync", "1")
	w := offArgoWorld(t, "-- app/all.yaml --\n"+configMap("web")+after)
	stop := w.start(policy.Policy{})
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 5, backoff: {duration: 1s}}}")
	w.exists(jobs, "after")
	w.operates("web", "Running", "PostSync after Running")
	w.saysOf(w.truce(), 0, "app terminate-op web", "application/web operation terminating")
	w.goes(jobs, "after")
	w.operates("web", "Failed", "PostSync after Failed")
	w.inSync("web")
	w.returns(t, w.Watch(t, configmaps, w.ns, "web"), func() { w.kubectl("patch", "configmap/web", "--type=merge", "-p", `{"data":{"k":"x"}}`) })

	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.refresh("web")
	w.inSync("web")
	w.operates("web", "Failed", "PostSync after Failed")
	if w.isThere(jobs, "after") {
		t.Error("the hook was made again")
	}
}
