package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestAHookThatAnotherApplicationHasMadeStays: an Application is renamed, or two have a hook of the same name. The one that has made it last has it: it runs on when
// the other one is deleted, which does not list it any more, and goes with its own.
func TestAHookThatAnotherApplicationHasMadeStays(t *testing.T) {
	migrate := jobHook("migrate", "argocd.argoproj.io/hook: PreSync", "1")
	w := newArgoWorld(t, policy.Policy{}, "-- app/all.yaml --\n"+configMap("web")+migrate+"-- other/all.yaml --\n"+configMap("other")+migrate)
	automated := "\nsyncPolicy: {automated: {}, retry: {limit: 0}}"
	w.application("before", "app", automated)
	first := w.exists(jobs, "migrate").GetUID()
	w.endJob("migrate", "Complete")
	w.operates("before", "Succeeded", "PreSync migrate Succeeded")
	if got := listed(w.inSync("before")); got != "ConfigMap web Synced, hook Job migrate" {
		t.Errorf("it lists %s", got)
	}
	w.application("after", "other", automated)
	taken := w.await(w.Watch(t, jobs, w.ns, "migrate"), func(o *unstructured.Unstructured) bool {
		return o.GetUID() != first && o.GetDeletionTimestamp() == nil
	})
	w.operates("after", "Running", "PreSync migrate Running")
	w.refresh("before")
	w.becomes("before", func(o *unstructured.Unstructured) bool { return !strings.Contains(listed(o), "Job migrate") })
	w.delete(applications, w.ns, "before")
	w.goes(applications, "before")
	if now := w.get(jobs, "migrate"); now == nil || now.GetUID() != taken.GetUID() || now.GetDeletionTimestamp() != nil {
		t.Fatal("the hook of the other Application was deleted while it runs")
	}
	w.endJob("migrate", "Complete")
	w.operates("after", "Succeeded", "PreSync migrate Succeeded")
	w.delete(applications, w.ns, "after")
	w.goes(jobs, "migrate")
}
