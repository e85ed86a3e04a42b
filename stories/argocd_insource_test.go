package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// overridden is a chart and a kustomization with files that say more about how they are rendered.
const overridden = `
-- chart/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- chart/values.yaml --
{all: chart, own: chart, spec: chart}
-- chart/templates/c.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {all: {{ .Values.all | quote }}, own: {{ .Values.own | quote }}, spec: {{ .Values.spec | quote }}}
-- chart/.argocd-source.yaml --
path: another
helm: {valuesObject: {all: for all, own: for all}}
-- chart/.argocd-source-web.yaml --
helm: {parameters: [{name: own, value: for $ARGOCD_APP_NAME}]}
-- plain/x.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
-- app/kustomization.yaml --
resources: [d.yaml]
-- app/d.yaml --
apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  selector: {matchLabels: {app: d}}
  template:
    metadata: {labels: {app: d}}
    spec: {containers: [{name: d, image: "nginx:1"}]}
`

// TestFilesOfASourceSayHowItIsRendered: .argocd-source.yaml, and that of one Application, which Argo CD's image updater commits.
func TestFilesOfASourceSayHowItIsRendered(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, overridden)
	c := w.Watch(t, configmaps, w.ns, "web")
	w.chartApplication("web", "chart", "  helm: {valuesObject: {all: spec, spec: spec}}")
	o := w.inSync("web")
	made := w.await(c, func(*unstructured.Unstructured) bool { return true })
	for key, want := range map[string]string{"all": "for all", "own": "for web", "spec": "spec"} {
		if got := value(made, key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	if got := text(o, "status", "sync", "comparedTo", "source", "path"); got != "chart" {
		t.Errorf("the path is %q", got)
	}

	// A kustomization, which the updater's commit alone changes; a source of several, too.
	d := w.Watch(t, deployments, w.ns, "d")
	source := func(path string) string {
		return fmt.Sprintf("{repoURL: %q, targetRevision: main, path: %s}", "file://"+w.repo.Dir, path)
	}
	w.sourcesOf("other", automated, source("plain"), source("app"))
	w.await(d, ofImage("nginx:1"))
	w.repo.Commit(map[string]string{"app/.argocd-source-other.yaml": "kustomize: {images: ['nginx:2']}\n"}, "a newer image")
	w.refresh("other")
	w.await(d, ofImage("nginx:2"))

	run := w.truce()
	w.saysOf(run, 0, "why deployment/d .spec.template.spec.containers[0].image", ".argocd-source-other.yaml", "images[0]")
	w.saysOf(run, 0, "app diff other", "no differences")

	// What cannot be followed is the Application's condition, and takes nothing away.
	w.repo.Commit(map[string]string{"app/.argocd-source-other.yaml": "kustomize: {images: [nginx]}\n"}, "no tag")
	w.refresh("other")
	t.Log(w.argoCondition("other", "ComparisonError", "app/.argocd-source-other.yaml"))
	w.repo.Commit(map[string]string{"app/.argocd-source-other.yaml": "kustomize: [\n"}, "no YAML")
	w.refresh("other")
	t.Log(w.argoCondition("other", "ComparisonError", "yaml"))
	w.repo.Commit(map[string]string{"app/.argocd-source-other.yaml": ""}, "nothing")
	w.refresh("other")
	w.await(d, ofImage("nginx:1"))
}
