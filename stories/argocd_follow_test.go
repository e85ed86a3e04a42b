package stories

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAnOperationGoesOnWithACommitThatIsAboutOthers: while a hook and while a wave is waited for, and when the commit comes while no controller runs. Each of its
// hooks runs once.
func TestAnOperationGoesOnWithACommitThatIsAboutOthers(t *testing.T) {
	files := aJobOfWave("first", "-1") + configOfWave("web", "none", "1") + jobHook("before", "argocd.argoproj.io/hook: PreSync", "1") +
		jobHook("after", "argocd.argoproj.io/hook: PostSync", "1")
	w := offArgoWorld(t, "-- app/all.yaml --\n"+files+"-- other/a.yaml --\n"+configOfWave("other", "none", "0"))
	stop := w.start(policy.Policy{})
	ran := map[string]types.UID{}
	commits := 0
	commit := func() {
		commits++
		w.repo.Commit(map[string]string{"other/a.yaml": configOfWave("other", "none", string(rune('0'+commits)))}, "about others")
	}
	goesOn := func(when, hooks string) {
		t.Helper()
		head := w.repo.Head()
		w.becomes("web", func(o *unstructured.Unstructured) bool {
			return text(o, "status", "operationState", "syncResult", "revision") == head
		})
		w.operates("web", "Running", hooks)
		for name, had := range ran {
			if now := w.exists(jobs, name).GetUID(); now != had {
				t.Errorf("%s: the hook %s has run again", when, name)
			}
		}
	}
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}, retry: {limit: 5, backoff: {duration: 1s}}}")
	ran["before"] = w.exists(jobs, "before").GetUID()
	w.operates("web", "Running", "PreSync before Running")
	commit()
	goesOn("a hook before the objects", "PreSync before Running")

	w.endJob("before", "Complete")
	w.waitsFor("web", "waiting for Job.batch "+w.ns+"/first")
	commit()
	goesOn("a wave", "PreSync before Succeeded")
	if w.isThere(configmaps, "web") {
		t.Error("the later wave was applied")
	}

	w.endJob("first", "Complete")
	ran["after"] = w.exists(jobs, "after").GetUID()
	w.operates("web", "Running", "PreSync before Succeeded, PostSync after Running")
	commit()
	goesOn("a hook after the objects", "PreSync before Succeeded, PostSync after Running")

	stop()
	commit()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	goesOn("a restart", "PreSync before Succeeded, PostSync after Running")
	w.endJob("after", "Complete")
	o := w.operates("web", "Succeeded", "PreSync before Succeeded, PostSync after Succeeded")
	if n := len(entries(o, "status", "history")); n != 1 {
		t.Errorf("the history has %d entries, want one", n)
	}
	w.inSync("web")

	// What a Secret holds is compared in memory alone.
	const secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: key}\nstringData: {k: first}\n"
	former := w.Watch(t, jobs, w.ns, "before")
	w.repo.Commit(map[string]string{"app/all.yaml": files + secret}, "a key")
	former.AwaitDeleted(w.ctx)
	delete(ran, "after")
	ran["before"] = w.exists(jobs, "before").GetUID()
	w.operates("web", "Running", "PreSync before Running")
	commit()
	goesOn("a Secret", "PreSync before Running")
}

// TestARevisionStopsTheHooksThatItDoesNotHave: of the operation whose place it takes.
func TestARevisionStopsTheHooksThatItDoesNotHave(t *testing.T) {
	after := func(name string) string { return jobHook(name, "argocd.argoproj.io/hook: PostSync", "1") }
	w := offArgoWorld(t, "-- app/all.yaml --\n"+configOfWave("web", "none", "1")+after("first"))
	w.start(policy.Policy{})
	w.application("web", "app", "\nsyncPolicy: {automated: {prune: true, selfHeal: true}}")
	w.exists(jobs, "first")
	w.operates("web", "Running", "PostSync first Running")
	w.repo.Commit(map[string]string{"app/all.yaml": configOfWave("web", "none", "2") + after("second")}, "another hook")
	w.exists(jobs, "second")
	w.goes(jobs, "first")
	w.operates("web", "Running", "PostSync second Running")
	w.repo.Commit(map[string]string{"app/all.yaml": configOfWave("web", "none", "3")}, "no hook")
	w.goes(jobs, "second")
	w.operates("web", "Succeeded", "")
}
