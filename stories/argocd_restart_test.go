package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestARestartIsNoReasonToSync(t *testing.T) {
	w := offArgoWorld(t, document3)
	stop := w.start(policy.Policy{})
	w.application("my-app", "apps/my-app", withoutHealing)
	d := w.Watch(t, deployments, w.ns, "my-app")
	w.inSync("my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=5")
	w.outOfSync("my-app")
	stop()
	stop = w.start(policy.Policy{})
	w.refresh("my-app")
	if n := replicas(last(d)); n != 5 {
		t.Errorf("replicas = %d after a restart, want the 5 of the person: self-heal is off", n)
	}
	w.outOfSync("my-app")
	if n := len(entries(w.getApplication("my-app"), "status", "history")); n != 1 {
		t.Errorf("the history has %d entries", n)
	}

	// The next controller carries out a request made while none ran, and finishes what the one before it began.
	stop()
	w.kubectl("patch", "application.argoproj.io/my-app", "--type=merge", "-p", `{"operation":{"sync":{},"initiatedBy":{"username":"ann"}}}`)
	stop = w.start(policy.Policy{})
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
	w.inSync("my-app")
	w.kubectl("scale", "deployment/my-app", "--replicas=6")
	w.outOfSync("my-app")
	stop()
	w.kubectl("patch", "application.argoproj.io/my-app", "--type=merge", "-p", `{"status":{"operationState":{"phase":"Running","finishedAt":null,
		"startedAt":"2026-11-21T10:00:00Z","operation":{"sync":{},"initiatedBy":{"username":"bob"}}}}}`)
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps) // before this truce ends
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
	w.becomes("my-app", func(o *unstructured.Unstructured) bool {
		by := text(o, "status", "operationState", "operation", "initiatedBy", "username")
		return text(o, "status", "operationState", "phase") == "Succeeded" && by == "bob"
	})
}

func TestAtRestAnApplicationIsLeftAlone(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, document3+configMaps("maps", "a", "b"))
	w.application("my-app", "apps/my-app", automated)
	w.application("manual", "maps", manually)
	w.inSync("my-app")
	w.becomes("my-app", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	w.outOfSync("manual")
	for _, name := range []string{"my-app", "manual"} {
		w.refresh(name)
		r := w.Watch(t, applications, w.ns, name)
		for range 3 {
			w.refresh(name)
		}
		// Each refresh is two writes: the annotation, and that it is taken off. Whatever else is written is one too many.
		if n := len(r.Values()); n > 1+2*3 {
			t.Errorf("%s: %d versions after three refreshes, want 7", name, n)
		}
	}
}
