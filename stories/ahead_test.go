package stories

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestNoObjectIsCreatedBeforeItsInventory refuses every write of the app's inventory, and then creates an autoscaler of a Deployment that the
// app describes: its event has the object compared again, outside of the app's run. Nothing is created while the inventory does not name it.
func TestNoObjectIsCreatedBeforeItsInventory(t *testing.T) {
	w := offWorld(t, `
-- app/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`)
	w.tap = &tap{}
	var refused atomic.Int32
	w.tap.set(func(r *http.Request) *http.Response {
		if r.Method == http.MethodGet || !strings.Contains(r.URL.Path, "/configmaps") || !strings.Contains(bodyOf(r), "inventory") {
			return nil
		}
		refused.Add(1)
		return refusing(r, 500, "InternalError")
	})
	w.start(policy.Policy{})
	w.app("web", "./app", defaultSpec)
	w.until("a refused inventory", func() bool { return refused.Load() > 0 })
	w.Apply(t, `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: `+w.ns+`}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`)
	after := refused.Load()
	w.until("two more runs of the app", func() bool { return refused.Load() > after+1 })
	if w.isThere(deployments, "web") {
		t.Error("web was created, and no inventory names it")
	}
	w.tap.set(nil)
	w.ready("web")
	if !w.isThere(deployments, "web") {
		t.Error("web is not created")
	}
}
