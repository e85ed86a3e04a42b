package stories

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var helmReleases = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}

// chartWithHPA is the commonest mistake in public charts: a template names replicas, and another one an autoscaler.
const chartWithHPA = `
-- charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
appVersion: "1"
-- charts/web/values.yaml --
replicas: 3
image: nginx:1.21.0
-- charts/web/templates/web.yaml --
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {app: web}
  template:
    metadata:
      labels: {app: web}
    spec:
      containers:
      - name: web
        image: {{ .Values.image }}
        resources: {requests: {cpu: 100m}}
-- charts/web/templates/hpa.yaml --
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: {{ .Release.Name }}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: {{ .Release.Name }}}
  minReplicas: 2
  maxReplicas: 10
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
-- charts/web/templates/secret.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  random: {{ randAlphaNum 20 | quote }}
  revision: {{ .Release.Revision | quote }}
`

// release creates a GitRepository and a HelmRelease of the chart charts/web, with more lines of its spec.
func (w *world) release(name, spec string) {
	w.t.Helper()
	w.Apply(w.t, w.releaseText(name, spec))
	w.t.Cleanup(w.removeApps)
}

// releaseText are the manifests that release creates.
func (w *world) releaseText(name, spec string) string {
	return fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: charts, namespace: %[1]s}
spec: {url: "file://%[2]s", interval: 1h, ref: {branch: main}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %[3]s, namespace: %[1]s}
spec:
  interval: 1h
  chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: charts}}}
%[4]s`, w.ns, w.repo.Dir, name, spec)
}

// released waits until a HelmRelease is Ready with a revision of a version of the chart.
func (w *world) released(name string, revision int, version string) {
	w.t.Helper()
	want := fmt.Sprintf("release %s/%s.v%d with chart web@%s", w.ns, name, revision, version)
	w.helmCondition(name, "Ready", func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return c["status"] == "True" && strings.Contains(message, want)
	})
}

// helmCondition waits for a condition of a HelmRelease.
func (w *world) helmCondition(name, kind string, is func(map[string]any) bool) *unstructured.Unstructured {
	w.t.Helper()
	return w.await(w.Watch(w.t, helmReleases, w.ns, name), func(o *unstructured.Unstructured) bool {
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		return slices.ContainsFunc(list, func(e any) bool { c, _ := e.(map[string]any); return c["type"] == kind && is(c) })
	})
}

// storedReleases is what the labels of the stored releases say, the oldest first.
func (w *world) storedReleases(name string) string {
	w.t.Helper()
	return strings.TrimSpace(w.kubectl("get", "secrets", "-l", "owner=helm,name="+name, "--sort-by=.metadata.creationTimestamp", "-o",
		`jsonpath={range .items[*]}{.metadata.labels.version}:{.metadata.labels.status} {end}`))
}

func TestAChartWithReplicasAndAnAutoscaler(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithHPA)
	d, c := w.Watch(t, deployments, w.ns, "web"), w.Watch(t, configmaps, w.ns, "web")
	w.release("web", "")
	w.released("web", 1, "1.0.0")
	w.load(8)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
	random := value(w.await(c, func(*unstructured.Unstructured) bool { return true }), "random")

	// An upgrade: the image is the chart's, the count is the autoscaler's.
	w.repo.Commit(map[string]string{"charts/web/values.yaml": "replicas: 4\nimage: nginx:1.22.0\n"}, "four replicas")
	w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	w.released("web", 2, "1.1.0")
	w.await(d, func(o *unstructured.Unstructured) bool { return image(o) == "nginx:1.22.0" })
	second := w.await(c, func(o *unstructured.Unstructured) bool { return value(o, "revision") == "2" })
	if value(second, "random") == random {
		t.Error("the upgrade did not run the templates")
	}

	// The template stops naming replicas at all.
	w.edit("charts/web/templates/web.yaml", "  replicas: {{ .Values.replicas }}\n", "")
	w.edit("charts/web/Chart.yaml", "version: 1.1.0", "version: 1.2.0")
	w.released("web", 3, "1.2.0")
	third := w.await(c, func(o *unstructured.Unstructured) bool { return value(o, "revision") == "3" })

	// The release before comes back, under other values.
	w.edit("charts/web/templates/web.yaml", "spec:\n  selector", "spec:\n  replicas: {{ .Values.replicas }}\n  selector")
	w.patch(helmReleases, "web", map[string]any{"spec": map[string]any{"values": map[string]any{"replicas": 2}}}, "kubectl")
	w.edit("charts/web/Chart.yaml", "version: 1.2.0", "version: 1.1.0")
	w.helmCondition("web", "Ready", func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return c["status"] == "True" && strings.Contains(message, "with chart web@1.1.0")
	})
	w.load(10)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 10 })
	neverFell(t, d, 3)
	if value(third, "random") == value(second, "random") {
		t.Error("the third release did not run the templates")
	}

	// Uninstalled, nothing of it is left.
	if got := w.storedReleases("web"); !strings.HasSuffix(got, ":deployed") || strings.Count(got, "deployed") != 1 {
		t.Errorf("the stored releases are %s", got)
	}
	w.delete(helmReleases, w.ns, "web")
	w.goes(deployments, "web")
	w.goes(helmReleases, "web")
	w.until("all releases are deleted", func() bool { return w.storedReleases("web") == "" })
}
