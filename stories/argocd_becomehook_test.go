package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAnObjectThatBecomesAHookIsDeletedAndRuns: as in Argo CD, also where the Application does not prune. The way back needs no deletion.
func TestAnObjectThatBecomesAHookIsDeletedAndRuns(t *testing.T) {
	const unless = "argocd.argoproj.io/sync-options: Prune=false"
	all := func(value, more string) string {
		return replace(t, configMap("web"), `"k":"web"`, `"k":"`+value+`"`) + jobHook("early", more, "1") + jobHook("late", strings.ReplaceAll(more, "PreSync", "PostSync"), "1")
	}
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+all("1", ""))
	w.application("web", "app", "\nsyncPolicy: {automated: {selfHeal: true}, retry: {limit: 0}}")
	w.inSync("web")
	early, late := w.exists(jobs, "early").GetUID(), w.exists(jobs, "late").GetUID()

	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": all("2", "argocd.argoproj.io/hook: PreSync")}), "hooks")
	w.operates("web", "Running", "PreSync early Running")
	if now := w.exists(jobs, "early"); now.GetUID() == early {
		t.Error("the hook runs with the object that was there")
	}
	if now := w.exists(jobs, "late"); now.GetUID() != late {
		t.Error("an object was deleted before its hook runs")
	}
	w.endJob("early", "Complete")
	w.operates("web", "Running", "PreSync early Succeeded, PostSync late Running")
	if now := w.exists(jobs, "late"); now.GetUID() == late {
		t.Error("the later hook runs with the object that was there")
	}
	w.endJob("late", "Complete")
	w.operates("web", "Succeeded", "PreSync early Succeeded, PostSync late Succeeded")
	if got := listed(w.inSync("web")); got != "ConfigMap web Synced, hook Job early, hook Job late" {
		t.Errorf("it lists %s", got)
	}
	early = w.exists(jobs, "early").GetUID()

	// The way back: the object is what the hook has left, and is not run again.
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": all("3", unless)}), "objects")
	if got := listed(w.inSync("web")); got != "ConfigMap web Synced, Job early Synced, Job late Synced" {
		t.Errorf("after the way back it lists %s", got)
	}
	back := w.exists(jobs, "early")
	if _, marked := back.GetAnnotations()["argocd.argoproj.io/hook"]; marked || back.GetUID() != early {
		t.Errorf("after the way back the object is %s, and has the annotations %v", back.GetUID(), back.GetAnnotations())
	}

	// What an annotation keeps from being pruned stays.
	w.repo.Commit(w.inNamespace(map[string]string{"app/all.yaml": all("4", "argocd.argoproj.io/hook: PreSync")}), "hooks again")
	w.operates("web", "Failed", "PreSync early Failed")
	if now := w.exists(jobs, "early"); now.GetUID() != early {
		t.Error("an object was deleted that asks to be kept")
	}
}
