package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// chartForArgo is chartWithHPA for Argo CD: nothing random, a hook, a test, and values beside the chart.
const chartForArgo = chartWithHPA + `
-- charts/web/templates/secret.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  namespace: {{ .Release.Namespace }}
  team: {{ .Values.team | quote }}
  served: {{ .Capabilities.APIVersions.Has "argoproj.io/v1alpha1/Application" | quote }}
  file: {{ .Values.file | quote }}
-- charts/web/templates/hooks.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: migrate, annotations: {helm.sh/hook: "pre-install,pre-upgrade"}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: try, annotations: {helm.sh/hook: test}}
-- charts/web/files/banner.txt --
hello, you
-- envs/web/prod.yaml --
replicas: 4
team: from a file
image: nginx:1.20.0
`

const chartSource = `
  helm:
    valueFiles: [/envs/$ARGOCD_APP_NAME/*.yaml]
    valuesObject: {image: "nginx:1.21.0"}
    parameters: [{name: team, value: "$ARGOCD_APP_NAME, and others"}]
    fileParameters: [{name: file, path: files/banner.txt}]`

// chartApplication creates an Application of a chart, with more lines of its source.
func (w *world) chartApplication(name, path, source string) {
	w.t.Helper()
	text := w.applicationText(name, path, automated)
	one := "source: {repoURL: \"file://" + w.repo.Dir + "\", path: " + path + ", targetRevision: main}"
	lines := "source:\n    repoURL: \"file://" + w.repo.Dir + "\"\n    path: " + path + "\n    targetRevision: main\n"
	w.Apply(w.t, strings.Replace(text, one, lines+indentLines(source, "  "), 1))
	w.t.Cleanup(w.removeApps)
}

func indentLines(text, by string) string {
	return by + strings.ReplaceAll(strings.Trim(text, "\n"), "\n", "\n"+by)
}

func TestAnApplicationOfAChart(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, chartForArgo)
	d, c := w.Watch(t, deployments, w.ns, "web"), w.Watch(t, configmaps, w.ns, "web")
	w.chartApplication("web", "charts/web", chartSource)
	o := w.inSync("web")
	if got := text(o, "status", "sourceType"); got != "Helm" {
		t.Errorf("sourceType = %q", got)
	}
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) >= 4 && image(o) == "nginx:1.21.0" })
	made := w.await(c, func(*unstructured.Unstructured) bool { return true })
	for key, want := range map[string]string{"namespace": w.ns, "team": "web, and others", "served": "true", "file": "hello, you\n"} {
		if got := value(made, key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if !w.isThere(configmaps, "migrate") || w.isThere(configmaps, "try") {
		t.Error("the hook was not made, or a test was")
	}
	if got := hookResults(o); got != "PreSync migrate Succeeded" {
		t.Errorf("the hooks of the operation: %s", got)
	}
	w.load(8)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })

	// One field drifts, and comes back alone.
	w.undone(d, func() { w.kubectl("set", "image", "deployment/web", "web=nginx:9") }, ofImage("nginx:9"), ofImage("nginx:1.21.0"))

	// Values of a file change, then the template stops naming the count.
	w.repo.Commit(map[string]string{"envs/web/prod.yaml": "replicas: 3\n", "charts/web/templates/hooks.yaml": ""}, "three replicas")
	w.inSync("web")
	w.edit("charts/web/templates/web.yaml", "  replicas: {{ .Values.replicas }}\n", "")
	w.inSync("web")
	w.load(10)
	w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 10 })
	neverFell(t, d, 4)
	if got := w.storedReleases("web"); got != "" {
		t.Errorf("releases are stored: %s", got)
	}

	// A template that fails is the Application's problem, and takes nothing away.
	w.edit("charts/web/templates/web.yaml", "image: {{ .Values.image }}", `image: {{ required "which image?" .Values.none }}`)
	t.Log(w.argoCondition("web", "ComparisonError", "which image?"))
	if !w.isThere(deployments, "web") {
		t.Error("the Deployment is gone")
	}
}
