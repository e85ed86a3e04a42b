package stories

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// soon is how long what waits for no other request may take on a busy machine: less than a request that gets no answer.
const soon = 20 * time.Second

// TestObjectsThatGetNoAnswerDelayNoOthers: more of them than there are workers have drifted, and a webhook holds up their correction.
func TestObjectsThatGetNoAnswerDelayNoOthers(t *testing.T) {
	var held []string
	for i := range 20 {
		held = append(held, fmt.Sprintf("held-%d", i))
	}
	w := offWorld(t, configMaps("held", held...)+configMaps("web", "web"))
	w.tap = &tap{}
	w.start(policy.Policy{})
	w.app("held", "./held", defaultSpec)
	w.app("web", "./web", defaultSpec)
	w.ready("held")
	w.ready("web")
	free := w.tap.hold("/configmaps/held-")
	defer free()
	for _, name := range held {
		w.patch(configmaps, name, map[string]any{"data": map[string]any{"k": "by hand"}}, "kubectl-patch")
	}
	w.until("their correction to wait", func() bool { return w.tap.waiting() >= 16 })
	begin := time.Now()
	w.putBack(w.Watch(t, configmaps, w.ns, "web"), "web", "by hand", "web")
	if took := time.Since(begin); took > soon {
		t.Errorf("another object was corrected after %s", took)
	}
	free()
	for _, name := range held {
		w.await(w.Watch(t, configmaps, w.ns, name), func(o *unstructured.Unstructured) bool { return value(o, "k") == name })
	}
}

// TestAHealthCheckThatGetsNoAnswerDelaysNoOthers: an aggregated API whose server hangs answers no read.
func TestAHealthCheckThatGetsNoAnswerDelaysNoOthers(t *testing.T) {
	w := offWorld(t, configMaps("held", "one")+configMaps("web", "two"))
	w.tap = &tap{}
	w.start(policy.Policy{})
	checks := func(name string) string {
		return "interval: 1h\ntimeout: 1h\nhealthChecks: [{apiVersion: v1, kind: ConfigMap, name: " + name + "}]"
	}
	w.app("held", "./held", checks("held-backend"))
	w.app("web", "./web", checks("backend"))
	t.Log(w.awaits("held", "held-backend: is not in the cluster"))
	t.Log(w.awaits("web", "backend: is not in the cluster"))
	free := w.tap.hold("/configmaps/held-")
	defer free()
	w.Apply(t, strings.ReplaceAll(configMap("held-backend"), "NAMESPACE", w.ns))
	w.until("the check to wait", func() bool { return w.tap.waiting() > 0 })
	begin := time.Now()
	w.Apply(t, strings.ReplaceAll(configMap("backend"), "NAMESPACE", w.ns))
	w.ready("web")
	if took := time.Since(begin); took > soon {
		t.Errorf("another app was ready after %s", took)
	}
	free()
	w.ready("held")
}
