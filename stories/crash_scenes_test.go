package stories

import (
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// scene is something that truce does, and that a crash may interrupt at any request.
type scene struct {
	name  string
	files string
	// live says that truce is at rest on the files when the scene begins; else the scene begins with its start.
	live bool
	// starts says that a trial with faults is about a start of truce; else it may find a truce that runs already.
	starts bool
	// elected says that there are two truces, of which one leads. One that ends is started again.
	elected bool
	// alone says that its trials have an API server of their own, which they restart.
	alone bool
	// setup is what happens before, with truce at rest.
	setup func(*stage)
	// trigger is what makes truce act.
	trigger func(*stage)
	// ended waits for what shows that truce has done all; nil waits until the app is ready, or gone.
	ended func(*stage)
	// meanwhile happens while truce is down; in the run without a crash, after the scene.
	meanwhile func(*stage)
	// objects are what Git wants in the end.
	objects []string
	// floor is the number of replicas that must never be undercut, nor ever fall from above it; 0 where people may lower it.
	floor int64
	// load is how many replicas the HPA is then made to want; 0 where there is none.
	load int
}

const shop = `
-- app/kustomization.yaml --
namespace: NAMESPACE
resources: [web.yaml, service.yaml, a.yaml, b.yaml]
-- app/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "nginx:1.21.0", resources: {requests: {cpu: 100m}}}
-- app/service.yaml --
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
-- app/a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {colour: blue}
-- app/b.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {colour: red}
`

const autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`

// scaled is the shop with an HPA in Git and no replicas: created, it would start with 1.
var scaled = strings.Replace(strings.Replace(shop, "  replicas: 3\n", "", 1), "service.yaml,", "service.yaml, hpa.yaml,", 1) +
	"-- app/hpa.yaml --" + autoscaler

var whole = []string{"ConfigMap/a", "ConfigMap/b", "Deployment/web", "Service/web"}

var scenes = []scene{
	{
		name: "rollout", files: shop, objects: whole, floor: 3,
		trigger: func(s *stage) { s.app(""); s.start() },
	},
	{
		name: "rollout, after which Git wants less", files: shop, objects: []string{"ConfigMap/a", "Deployment/web"}, floor: 3,
		trigger:   func(s *stage) { s.app(""); s.start() },
		meanwhile: func(s *stage) { s.less() },
	},
	{
		name: "upgrade", files: shop, live: true, objects: whole, floor: 3,
		trigger: func(s *stage) {
			s.edit("app/web.yaml", "nginx:1.21.0", "nginx:1.22.0")
			s.edit("app/a.yaml", "colour: blue", "shape: round")
			s.look()
		},
	},
	{
		name: "correction", files: shop, live: true, objects: whole,
		trigger: func(s *stage) { s.scale(5) },
		ended: func(s *stage) {
			s.has(deployments, "web", func(u *unstructured.Unstructured) bool { return replicas(u) == 3 })
		},
	},
	{
		name: "deleted object", files: shop, live: true, objects: whole, floor: 3,
		trigger: func(s *stage) { s.delete(services, s.ns, "web"); s.delete(configmaps, s.ns, "a") },
		ended:   func(s *stage) { s.has(services, "web", exists); s.has(configmaps, "a", exists) },
	},
	{
		name: "deleted object that Git then drops", files: shop, live: true, objects: []string{"ConfigMap/a", "Deployment/web"}, floor: 3,
		trigger:   func(s *stage) { s.delete(services, s.ns, "web"); s.delete(configmaps, s.ns, "b") },
		meanwhile: func(s *stage) { s.less() },
	},
	{
		name: "handover at creation", files: scaled, floor: 2, load: 3,
		objects: []string{"ConfigMap/a", "ConfigMap/b", "Deployment/web", "HorizontalPodAutoscaler/web", "Service/web"},
		trigger: func(s *stage) { s.app(""); s.start() },
	},
	{
		name: "handover of a live workload", files: shop, live: true, objects: whole, floor: 3, load: 4,
		trigger: func(s *stage) { s.Apply(s.t, strings.ReplaceAll(autoscaler, "NAMESPACE", s.ns)) },
	},
	{
		name: "Git lets go of replicas", files: shop, live: true, objects: whole, floor: 3, load: 4,
		setup: func(s *stage) { s.Apply(s.t, strings.ReplaceAll(autoscaler, "NAMESPACE", s.ns)) },
		trigger: func(s *stage) {
			s.edit("app/web.yaml", "  replicas: 3\n", "")
			s.look()
		},
	},
	{
		name: "prune", files: shop, live: true, objects: []string{"ConfigMap/a", "Deployment/web"}, floor: 3,
		trigger: func(s *stage) { s.less(); s.look() },
	},
	{
		name: "farewell", files: shop, live: true,
		trigger: func(s *stage) { s.delete(kustomizations, s.ns, "web") },
	},
}

// has waits until the app is ready and an object is there, as it should be: an app stays ready while its drift is put back.
func (s *stage) has(kind schema.GroupVersionResource, name string, is func(*unstructured.Unstructured) bool) {
	s.t.Helper()
	s.ready("web")
	s.untilEvery(200*time.Millisecond, kind.Resource+"/"+name, func() bool {
		u, err := s.client.Resource(kind).Namespace(s.ns).Get(s.ctx, name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			s.t.Fatal(err)
		}
		return err == nil && is(u)
	})
}

// scale does what kubectl scale does.
func (s *stage) scale(n int) {
	s.t.Helper()
	s.patch(deployments, "web", map[string]any{"spec": map[string]any{"replicas": n}}, "kubectl", "scale")
}

// less is a commit that drops two objects and changes a third.
func (s *stage) less() {
	s.t.Helper()
	s.edit("app/kustomization.yaml", "service.yaml, a.yaml, b.yaml", "a.yaml")
	s.edit("app/a.yaml", "blue", "green")
}
