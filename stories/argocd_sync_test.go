package stories

import (
	"testing"

	"github.com/truce-gitops/truce/internal/app"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAnApplicationIsKeptInSync(t *testing.T) {
	w := newArgoWorld(t, app.Policy{}, document3)
	w.application("my-app", "apps/my-app", automated)
	d := w.Watch(t, deployments, w.ns, "my-app")
	first := w.inSync("my-app")
	if got := text(first, "status", "operationState", "phase"); got != "Succeeded" {
		t.Errorf("the first sync ended as %q", got)
	}
	w.edit("apps/my-app/my-app.yaml", "replicas: 3", "replicas: 4")
	second := w.inSync("my-app")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 4 })
	history := entries(second, "status", "history")
	if len(history) != 2 || history[1]["revision"] != w.repo.Head() || history[1]["id"] != int64(1) {
		t.Errorf("history = %v, want the two revisions", history)
	}
	w.kubectl("scale", "deployment/my-app", "--replicas=9")
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 9 })
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 4 })
	w.inSync("my-app")
}
