package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const chartValue = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {version: {{ .Chart.Version | quote }}, who: {{ .Values.who | quote }}}\n"

// chartOf creates an Application of a chart of a repository.
func (w *world) chartOf(name, repository, chart, version, helm string) {
	w.t.Helper()
	text := w.applicationText(name, "none", automated)
	one := "source: {repoURL: \"file://" + w.repo.Dir + "\", path: none, targetRevision: main}"
	w.Apply(w.t, strings.Replace(text, one, fmt.Sprintf("source: {repoURL: %q, chart: %s, targetRevision: %q, helm: %s}", repository, chart, version, helm), 1))
	w.t.Cleanup(w.removeApps)
}

// atVersion waits until the Application is Synced to a version of its chart.
func (w *world) atVersion(name, version string) *unstructured.Unstructured {
	w.t.Helper()
	return w.becomes(name, func(o *unstructured.Unstructured) bool {
		return text(o, "status", "sync", "status") == "Synced" && text(o, "status", "sync", "revision") == version
	})
}

func TestAnApplicationOfAChartOfARepository(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, "-- none --\n")
	charts, registry := charttest.New(t), ocitest.New(t)
	charts.Demand("robot", "hunter22")
	charts.Push("web", "1.0.0", map[string]string{"templates/c.yaml": chartValue, "values.yaml": "who: chart", "values-prod.yaml": "who: prod"})
	charts.Push("web", "2.0.0", map[string]string{"templates/c.yaml": chartValue})
	layer := ocitest.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: charttest.Package("cache", "15.9.0", map[string]string{"templates/c.yaml": chartValue})}
	registry.PushLayers("charts/cache", "15.9.0", nil, layer)
	w.Apply(t, fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata: {name: charts, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: helm, url: %[2]q, username: robot, password: hunter22}
---
apiVersion: v1
kind: Secret
metadata: {name: registry, namespace: %[1]s, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: helm, url: %[3]q, enableOCI: "true", insecureOCIForceHttp: "true"}
`, w.ns, charts.URL(), registry.Host+"/charts"))

	w.chartOf("web", charts.URL(), "web", "1.x", "{valueFiles: [values-prod.yaml]}")
	w.chartOf("cache", registry.Host+"/charts", "cache", "15.9.0", "{parameters: [{name: who, value: parameter}]}")
	if o := w.atVersion("web", "1.0.0"); text(o, "status", "sourceType") != "Helm" {
		t.Errorf("sourceType = %q", text(o, "status", "sourceType"))
	}
	w.await(w.Watch(t, configmaps, w.ns, "web"), func(o *unstructured.Unstructured) bool { return value(o, "who") == "prod" })
	w.atVersion("cache", "15.9.0")
	w.await(w.Watch(t, configmaps, w.ns, "cache"), func(o *unstructured.Unstructured) bool { return value(o, "who") == "parameter" })

	// A newer version of the range comes by the next look.
	charts.Push("web", "1.1.0", map[string]string{"templates/c.yaml": chartValue, "values-prod.yaml": "who: newer"})
	w.refresh("web")
	o := w.atVersion("web", "1.1.0")
	w.await(w.Watch(t, configmaps, w.ns, "web"), func(o *unstructured.Unstructured) bool {
		return value(o, "version") == "1.1.0" && value(o, "who") == "newer"
	})
	if h := entries(o, "status", "history"); len(h) != 2 || h[0]["revision"] != "1.0.0" || h[1]["revision"] != "1.1.0" {
		t.Errorf("history = %v, want the two versions", h)
	}

	// A version that is not there is a problem of its own Application, and takes nothing away.
	w.kubectl("patch", "application.argoproj.io/web", "--type=merge", "-p", `{"spec":{"source":{"targetRevision":"3.x"}}}`)
	message := w.argoCondition("web", "ComparisonError", "3.x")
	if strings.Contains(message, "hunter22") {
		t.Errorf("the password is in the condition: %s", message)
	}
	if !w.isThere(configmaps, "web") {
		t.Error("the ConfigMap is gone")
	}
}
