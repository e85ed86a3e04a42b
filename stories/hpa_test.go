package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// document1 is the autoscaled workload of the first requirement document: a base, an overlay that sets replicas, an HPA.
const document1 = `
-- apps/web/base/kustomization.yaml --
resources: [web.yaml, hpa.yaml]
-- apps/web/base/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: nginx:1.21.0
        resources: {requests: {cpu: 100m}}
-- apps/web/base/hpa.yaml --
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: web
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
-- apps/web/production/kustomization.yaml --
namespace: NAMESPACE
resources: [../base]
patches: [{path: replicas.yaml}]
-- apps/web/production/replicas.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 3
`

const everyFiveSeconds = `
interval: 5s`

// load puts so much work on the workload that the HPA wants n replicas: each pod asks for 100m and may use half of it.
func (w *world) load(n int) {
	w.annotate(deployments, "web", "sandbox.truce.dev/cpu-total", fmt.Sprintf("%dm", n*50-5))
}

func TestAnAutoscalerIsLeftInPeace(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document1)
	w.app("web", "./apps/web/production", everyFiveSeconds)
	d := w.Watch(t, deployments, w.ns, "web")
	w.ready("web")
	w.load(8)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })

	// A commit that changes the image and replicas: the image is Git's, the count is the HPA's.
	w.repo.Commit(map[string]string{
		"apps/web/production/replicas.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 4\n",
	}, "four replicas")
	w.edit("apps/web/base/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
	w.ready("web")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })

	// Git stops naming replicas at all.
	w.repo.Commit(map[string]string{
		"apps/web/production/kustomization.yaml": fmt.Sprintf("namespace: %s\nresources: [../base]\n", w.ns),
	}, "leave replicas to the HPA")
	w.ready("web")
	w.load(10)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 10 })
	w.intervals("web", w.short(2, 10))
	neverFell(t, d, 3)
	w.onlyNecessaryWrites("web")
}

// neverFell checks every value of the watch.
func neverFell(t *testing.T, d *kubetest.Recorder, first int64) {
	t.Helper()
	last := first
	for _, v := range d.Values() {
		n := replicas(v.Object)
		if n < last {
			t.Errorf("replicas fell from %d to %d at version %s", last, n, v.Object.GetResourceVersion())
		}
		last = n
	}
}

func TestWithClaimsOffTheFightIsReal(t *testing.T) {
	w := newWorld(t, policy.Policy{Claims: policy.ClaimsOff}, document1)
	w.app("web", "./apps/web/production", everyFiveSeconds)
	d := w.Watch(t, deployments, w.ns, "web")
	w.ready("web")
	w.load(8)
	falls := 0
	w.await(d, func(*unstructured.Unstructured) bool {
		falls = countFalls(d)
		return falls >= 3
	})
}

func countFalls(d *kubetest.Recorder) int {
	n, last := 0, int64(0)
	for _, v := range d.Values() {
		if now := replicas(v.Object); now < last {
			n++
			last = now
		} else {
			last = now
		}
	}
	return n
}

func TestANewWorkloadUnderAnAutoscalerNeverStartsWithOne(t *testing.T) {
	w := newWorld(t, policy.Policy{}, document1)
	d := w.Watch(t, deployments, w.ns, "web")
	w.app("web", "./apps/web/base", defaultSpec+"\ntargetNamespace: "+w.ns)
	w.ready("web")
	for _, v := range d.Values() {
		if n := replicas(v.Object); n < 2 {
			t.Errorf("replicas = %d at version %s, want at least the HPA's minimum of 2", n, v.Object.GetResourceVersion())
		}
	}
}

func TestIgnoreDifferencesNarrowAndBroad(t *testing.T) {
	t.Parallel()
	for name, target := range map[string]string{"narrow": "{kind: Deployment, name: my-app}", "broad": "{kind: Deployment, namespace: NS}"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, document3)
			w.app("my-app", "./apps/my-app", defaultSpec+`
ignoreDifferences:
- target: `+replaceNS(target, w.ns)+`
  jsonPatches: [{op: remove, path: /spec/replicas}]`)
			w.ready("my-app")
			d := w.Watch(t, deployments, w.ns, "my-app")
			w.kubectl("scale", "deployment/my-app", "--replicas=5")
			w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 5 })
			w.healed(d)
			w.edit("apps/my-app/my-app.yaml", "nginx:1.21.0", "nginx:1.23.0")
			w.ready("my-app")
			w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.23.0" })
			neverFell(t, d, 3)
		})
	}
}
