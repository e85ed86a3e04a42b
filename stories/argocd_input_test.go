package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// wrong are Applications that cannot be done as they are written: the text to replace in a good one, by what, and what is said of it.
var wrong = map[string]struct{ before, after, kind, want string }{
	"helm":             {"path: app,", "path: app, helm: {releaseName: x},", "ComparisonError", "render app: it has no Chart.yaml"},
	"plugin":           {"path: app,", "path: app, plugin: {name: x},", "InvalidSpecError", "spec.source.plugin: not supported yet"},
	"kustomize images": {"path: app,", "path: app, kustomize: {images: [web]},", "InvalidSpecError", "spec.source.kustomize.images[0]: want NAME:TAG"},
	"plain files":      {"path: app,", "path: app, kustomize: {namePrefix: x-},", "ComparisonError", "render app: it has no kustomization.yaml"},
	"a chart":          {"path: app,", "chart: app,", "InvalidSpecError", "spec.source.repoURL: want https://"},
	"no path":          {"path: app,", "", "InvalidSpecError", "spec.source.path: required"},
	"a wrong path":     {"path: app,", "path: nowhere,", "ComparisonError", "render nowhere: the path does not exist in this revision"},
	"a wrong revision": {"targetRevision: main", "targetRevision: v9", "ComparisonError", `neither a branch nor a tag is called "v9"`},
	"a wrong cluster":  {"https://kubernetes.default.svc", "https://elsewhere", "InvalidSpecError", "spec.destination: cluster https://elsewhere: no Secret of namespace"},
	"a wrong name":     {"server: https://kubernetes.default.svc", "name: production", "InvalidSpecError", "spec.destination: cluster production: no Secret of namespace"},
	"a wrong pointer":  {"project: default", "ignoreDifferences: [{kind: ConfigMap, jsonPointers: [spec]}]", "InvalidSpecError", "spec.ignoreDifferences[0].jsonPointers[0]"},
	"an identity":      {"project: default", "ignoreDifferences: [{kind: ConfigMap, jsonPointers: [/metadata/name]}]", "InvalidSpecError", "says which object it is"},
	"a wrong jq":       {"project: default", "ignoreDifferences: [{kind: ConfigMap, jqPathExpressions: ['.data[']}]", "InvalidSpecError", "spec.ignoreDifferences[0].jqPathExpressions[0]"},
	"a wrong ref":      {"project: default", "sources: [{repoURL: /a, ref: x}, {repoURL: /b, ref: x}]", "InvalidSpecError", "spec.sources[1].ref: \"x\" is the ref of another source"},
	"an idle rule":     {"project: default", "ignoreDifferences: [{group: '', kind: Deployment, jsonPointers: [/spec/replicas]}]", "Notice", "spec.ignoreDifferences[0]"},
	"an annotation":    {"metadata: {", "metadata: {annotations: {truce.dev/mode: sometimes}, ", "InvalidSpecError", "annotation truce.dev/mode: want one of enforce, observe"},
	"replace":          {"project: default", "syncPolicy: {syncOptions: [Replace=true]}", "Notice", "Replace=true has no effect: objects are applied server-side"},
}

func TestWhatIsWrongWithAnApplicationIsSaidOnItAlone(t *testing.T) {
	w := newArgoWorld(t, policy.Policy{}, configMaps("app", "a")+configMaps("good", "b"))
	w.application("good", "good", automated)
	for name, c := range wrong {
		id := strings.ReplaceAll(name, " ", "-")
		good := w.applicationText(id, "app", manually)
		if !strings.Contains(good, c.before) {
			t.Fatalf("%s: %q is not in\n%s", name, c.before, good)
		}
		w.Apply(t, strings.Replace(good, c.before, c.after, 1))
	}
	for name, c := range wrong {
		message := w.argoCondition(strings.ReplaceAll(name, " ", "-"), c.kind, c.want)
		t.Logf("%s: %s", name, message)
	}
	w.inSync("good")
}
