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

// dependent is a chart in Git that depends on another one of the same repository.
const dependent = `
-- charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 0.1.0
dependencies:
- {name: lib, version: 1.x, repository: "file://../../lib"}
-- charts/web/templates/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {k: own}
-- lib/Chart.yaml --
apiVersion: v2
name: lib
version: 1.2.0
-- lib/templates/cm.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-lib"}
data: {k: lib}
`

// dependentOn is the Chart.yaml of a chart with more dependencies.
func dependentOn(lines ...string) map[string]string {
	return map[string]string{"charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.2.0\ndependencies:\n" + strings.Join(lines, "\n") + "\n"}
}

// dependency is a chart of one ConfigMap, which is named after the chart.
func dependency(version string) map[string]string {
	return map[string]string{"templates/cm.yaml": configMapOf("{{ .Release.Name }}-{{ .Chart.Name }}", version)}
}

// TestAChartHasItsDependenciesFetched renders charts of Git whose dependencies are in no directory charts: of the same repository, of a Helm repository
// and of a registry that want credentials, which those HelmRepositories give that have their URL.
func TestAChartHasItsDependenciesFetched(t *testing.T) {
	w := newWorld(t, policy.Policy{}, dependent)
	w.release("web", "")
	w.released("web", 1, "0.1.0")
	has := func(name, want string) {
		t.Helper()
		w.await(w.Watch(t, configmaps, w.ns, name), func(o *unstructured.Unstructured) bool { return value(o, "k") == want })
	}
	has("web", "own")
	has("web-lib", "lib")

	r, other, registry := charttest.New(t), charttest.New(t), ocitest.New(t)
	r.Demand("robot", password)
	registry.Demand("robot", password, ocitest.Tokens)
	r.Push("cache", "1.0.0", dependency("1.0.0"))
	r.Push("cache", "1.1.0", dependency("1.1.0"))
	other.Push("open", "0.1.0", dependency("0.1.0"))
	registry.PushLayers("charts/store", "2.0.0", nil, ocitest.Layer{MediaType: "application/vnd.cncf.helm.chart.content.v1.tar+gzip", Data: charttest.Package("store", "2.0.0", dependency("2.0.0"))})
	w.helmRepository("charts", "url: "+r.URL()+"/\ninterval: 1h")
	w.helmRepository("registry", "type: oci\ninsecure: true\nurl: "+registry.URL("charts"))
	w.repo.Commit(dependentOn(
		fmt.Sprintf("- {name: cache, version: 1.0.x, repository: %q}", r.URL()), fmt.Sprintf("- {name: cache, version: 1.0.x, repository: %q, alias: second}", r.URL()),
		fmt.Sprintf("- {name: open, version: 0.1.0, repository: %q}", other.URL()), fmt.Sprintf("- {name: store, version: \">=2\", repository: %q}", registry.URL("charts")),
	), "depend on charts of repositories")
	w.released("web", 2, "0.2.0")
	has("web-cache", "1.0.0")
	has("web-second", "1.0.0")
	has("web-open", "0.1.0")
	has("web-store", "2.0.0")
	w.repo.Commit(map[string]string{"charts/argo/Chart.yaml": "apiVersion: v2\nname: argo\nversion: 0.1.0\ndependencies:\n" + fmt.Sprintf("- {name: open, version: 0.x, repository: %q}\n", other.URL())}, "an Application's chart")
	w.chartApplication("argo", "charts/argo", "")
	has("argo-open", "0.1.0")
	if other.Presented() {
		t.Error("a repository without a HelmRepository was given credentials")
	}

	for text, line := range map[string]string{
		"does not lead to a directory of the same source": `- {name: lib, version: 1.x, repository: "file://../../../lib"}`,
		"write its URL":                       `- {name: lib, version: 1.x, repository: "@stable"}`,
		"the index has no chart of that name": fmt.Sprintf("- {name: absent, version: 1.x, repository: %q}", r.URL()),
	} {
		w.repo.Commit(dependentOn(line), "name what cannot be had")
		w.releaseSays("web", "False", text)
		has("web-cache", "1.0.0")
	}
	if all := w.kubectl("get", "helmrepositories,helmreleases", "-o", "yaml"); strings.Contains(all, password) {
		t.Error("a credential is in a status")
	}
}
