package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// sizes are how many objects, or apps, the worlds of a benchmark have: those given, or what TRUCE_BENCH_SIZES says.
func sizes(b *testing.B, short ...int) []int {
	b.Helper()
	text := os.Getenv("TRUCE_BENCH_SIZES")
	if text == "" {
		return short
	}
	var out []int
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(s)
		must(b, err)
		out = append(out, n)
	}
	return out
}

// deployment is as large as people write them, and runs nothing.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, namespace: NAMESPACE, labels: {app.kubernetes.io/name: NAME, team: shop}}
spec:
  replicas: 0
  minReadySeconds: 3
  revisionHistoryLimit: 5
  progressDeadlineSeconds: 60
  strategy: {rollingUpdate: {maxUnavailable: 0}, type: RollingUpdate}
  selector: {matchLabels: {app.kubernetes.io/name: NAME}}
  template:
    metadata:
      annotations: {prometheus.io/scrape: "true", prometheus.io/port: "9797"}
      labels: {app.kubernetes.io/name: NAME}
    spec:
      serviceAccountName: default
      containers:
      - name: main
        image: registry.example/podinfo:6.9.0
        imagePullPolicy: IfNotPresent
        ports:
        - {name: http, containerPort: 9898, protocol: TCP}
        - {name: http-metrics, containerPort: 9797, protocol: TCP}
        command: [./podinfo, --port=9898, --port-metrics=9797, --level=info, --random-delay=false, --random-error=false]
        env: [{name: PODINFO_UI_COLOR, value: "#34577c"}, {name: PODINFO_UI_MESSAGE, value: hello}]
        livenessProbe: {exec: {command: [podcli, check, http, localhost:9898/healthz]}, initialDelaySeconds: 5, timeoutSeconds: 5}
        readinessProbe: {exec: {command: [podcli, check, http, localhost:9898/readyz]}, initialDelaySeconds: 5, timeoutSeconds: 5}
        resources: {limits: {cpu: 2000m, memory: 512Mi}, requests: {cpu: 100m, memory: 64Mi}}
`

const configMap = `
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME, namespace: NAMESPACE, labels: {app.kubernetes.io/name: NAME}}
data: {colour: blue, greeting: "hello, world", settings.yaml: "level: info\nport: 9898\nrandom: false\n"}
`

// serviceAccount is the object that BenchmarkPrune takes out.
const serviceAccount = `
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME, namespace: NAMESPACE}`

// others are what stands beside the Deployment in Flux's own benchmark.
const others = serviceAccount + `
---
apiVersion: v1
kind: Service
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  type: ClusterIP
  selector: {app.kubernetes.io/name: NAME}
  ports: [{name: http, port: 9898, protocol: TCP, targetPort: http}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: NAME, namespace: NAMESPACE}
spec:
  rules:
  - host: NAME.example.org
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: NAME, port: {number: 9898}}}}]}
`

const podinfo = deployment + others

func fill(text, namespace, name string) string {
	return strings.NewReplacer("NAMESPACE", namespace, "NAME", name).Replace(text)
}

// small are the files of n apps of a text, each app in a directory of its own.
func small(text, namespace string, n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("app-%05d", i)
		files[name+"/app.yaml"] = fill(text, namespace, name)
	}
	return files
}

// perApp is how many objects a large app has.
const perApp = 100

// large are the files of n objects of the texts in turn, in apps of perApp objects. It returns how many apps that are.
func large(namespace string, n int, texts ...string) (files map[string]string, apps int) {
	files = map[string]string{}
	for i := range n {
		name := fmt.Sprintf("o-%05d", i)
		files[fmt.Sprintf("app-%05d/%s.yaml", i/perApp, name)] = fill(texts[i%len(texts)], namespace, name)
	}
	return files, (n + perApp - 1) / perApp
}

// dialect is whose custom resources the apps are.
type dialect struct {
	resources func(dir string, apps int) string
	apps      schema.GroupVersionResource
	status    []string                              // the subresource that takes the status, if it has one
	done      func(*unstructured.Unstructured) bool // applied and healthy
}

var (
	fluxs = dialect{customResources, kustomizations, []string{"status"}, ready}
	argos = dialect{applicationResources, applications, nil, func(o *unstructured.Unstructured) bool {
		sync, _, _ := unstructured.NestedString(o.Object, "status", "sync", "status")
		health, _, _ := unstructured.NestedString(o.Object, "status", "health", "status")
		return sync == "Synced" && health == "Healthy"
	}}
)

// applicationResources are an Application for each app.
func applicationResources(dir string, apps int) string {
	var all []string
	for i := range apps {
		all = append(all, fmt.Sprintf(`
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: app-%05[1]d, namespace: bench}
spec:
  project: default
  source: {repoURL: "file://%[2]s", path: app-%05[1]d, targetRevision: main}
  destination: {server: https://kubernetes.default.svc, namespace: bench}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`, i, dir))
	}
	return strings.Join(all, "---")
}

// customResources are a GitRepository, and a Kustomization for each app.
func customResources(dir string, apps int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: repo, namespace: bench}
spec: {url: "file://%s", interval: 1h, ref: {branch: main}}
`, dir)
	for i := range apps {
		fmt.Fprintf(&b, `---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: app-%05[1]d, namespace: bench}
spec: {path: ./app-%05[1]d, prune: true, wait: true, interval: 1h, timeout: 30m, sourceRef: {kind: GitRepository, name: repo}}
`, i)
	}
	return b.String()
}

const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: NAMESPACE}}"
