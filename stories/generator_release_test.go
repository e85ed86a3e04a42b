package stories

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
	"github.com/truce-gitops/truce/internal/testing/s3test"
)

// chartWithoutValues is a chart whose values are elsewhere.
const chartWithoutValues = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/values.yaml --
greeting: hello
size: small
-- charts/web/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: web}, data: {k: "{{ .Values.greeting }} {{ .Values.size }}"}}
`

// TestAChartIsComposedOfSeveralSources has the chart in Git and values that are merged into its own in a registry: an ArtifactGenerator makes the chart of
// a HelmRelease of both. What is pushed to either is released by events.
func TestAChartIsComposedOfSeveralSources(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithoutValues)
	registry := ocitest.New(t)
	push := func(size string) {
		registry.Push("team/values", "prod", map[string]string{"prod.yaml": "size: " + size + "\n"}, nil)
	}
	push("large")
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1h\nref: {branch: main}")
	w.artifact("values", "url: "+registry.URL("team/values")+"\nref: {tag: prod}")
	w.generator("web", `
sources:
- {alias: chart, kind: GitRepository, name: repo}
- {alias: values, kind: OCIRepository, name: values}
artifacts:
- name: web
  originRevision: "@chart"
  copy:
  - {from: "@chart/charts/web/**", to: "@artifact/"}
  - {from: "@values/prod.yaml", to: "@artifact/values.yaml", strategy: Merge}`)
	w.Apply(t, fmt.Sprintf("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: %s}\nspec: {interval: 1h, chartRef: {kind: ExternalArtifact, name: web}}\n", w.ns))
	t.Cleanup(w.removeApps)
	c := w.Watch(t, configmaps, w.ns, "web")
	holds := func(want string) {
		t.Helper()
		w.await(c, func(o *unstructured.Unstructured) bool { return value(o, "k") == want })
	}
	holds("hello large")
	w.helmCondition("web", "Ready", func(c map[string]any) bool { return c["status"] == "True" })
	push("huge")
	holds("hello huge")
	w.edit("charts/web/values.yaml", "greeting: hello", "greeting: welcome")
	holds("welcome huge")
	w.edit("charts/web/Chart.yaml", "1.0.0", "1.1.0")
	w.helmCondition("web", "Ready", func(c map[string]any) bool {
		message, _ := c["message"].(string)
		return c["status"] == "True" && strings.Contains(message, "with chart web@1.1.0")
	})
}

// TestAChartAndABucketBecomeOneArtifact has the chart of a HelmRepository, which is in a directory of its name, as in its archive, and values in a bucket.
func TestAChartAndABucketBecomeOneArtifact(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("unused", "x"))
	storage, charts := s3test.New(t), charttest.New(t)
	storage.Put("prod/values.yaml", "from: bucket\n")
	charts.Push("web", "1.0.0", webChart("1.0.0"))
	w.bucket("values", storage, "")
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmRepository\nmetadata: {name: charts, namespace: %s}\nspec: {interval: 1s, url: %q}\n", w.ns, charts.URL()))
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: HelmChart\nmetadata: {name: web, namespace: %s}\nspec: {interval: 1h, chart: web, version: 1.x, sourceRef: {kind: HelmRepository, name: charts}}\n", w.ns))
	w.generator("web", `
sources:
- {alias: chart, kind: HelmChart, name: web}
- {alias: values, kind: Bucket, name: values}
artifacts:
- name: web
  originRevision: "@chart"
  copy:
  - {from: "@chart/**", to: "@artifact/"}
  - {from: "@values/prod/values.yaml", to: "@artifact/web/values.yaml", strategy: Merge}`)
	w.Apply(t, fmt.Sprintf("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: %s}\nspec: {interval: 1h, chartRef: {kind: ExternalArtifact, name: web}}\n", w.ns))
	t.Cleanup(w.removeApps)
	c := w.Watch(t, configmaps, w.ns, "web")
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() {}, "1.0.0 bucket"},
		{func() { storage.Put("prod/values.yaml", "from: elsewhere\n") }, "1.0.0 elsewhere"},
		{func() { charts.Push("web", "1.1.0", webChart("1.1.0")) }, "1.1.0 elsewhere"},
	} {
		step.do()
		w.await(c, func(o *unstructured.Unstructured) bool { return value(o, "k") == step.want })
	}
}

// TestGeneratorsInACircleAreNamed has two ArtifactGenerators that read what the other one makes. Neither begins, and where one has begun, the circle is a
// condition that names its members; what was made stays, and nothing goes round.
func TestGeneratorsInACircleAreNamed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, configMaps("deploy", "a"))
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1h\nref: {branch: main}")
	of := func(name, kind, from, to string) {
		w.generator(name, fmt.Sprintf("sources: [{alias: in, kind: %s, name: %s}]\nartifacts: [{name: %s, copy: [{from: \"@in/**\", to: \"@artifact/%s\"}]}]", kind, from, name, to))
	}
	of("left", "ExternalArtifact", "right", "")
	of("right", "ExternalArtifact", "left", "")
	w.generatorSays("left", "SourceFetchFailed", "ExternalArtifact "+w.ns+"/right is not in the cluster")
	w.generatorSays("right", "SourceFetchFailed", "ExternalArtifact "+w.ns+"/left is not in the cluster")
	w.t.Cleanup(w.removeApps)

	of("left", "GitRepository", "repo", "")
	w.generatorSays("left", "Succeeded", "")
	w.generatorSays("right", "Succeeded", "")
	w.appOf("app", "ExternalArtifact", "right")
	w.await(w.Watch(t, configmaps, w.ns, "a"), func(o *unstructured.Unstructured) bool { return value(o, "k") == "a" })
	for range 2 { // what goes round would make its artifact deeper each time
		of("left", "ExternalArtifact", "right", "deeper/")
		w.generatorSays("left", "BuildFailed", "these are made of each other: ArtifactGenerator "+w.ns+"/left is made of ExternalArtifact "+w.ns+"/right")
		of("left", "GitRepository", "repo", "")
		w.generatorSays("left", "Succeeded", "")
	}
	w.condition("app", "Ready", func(c map[string]any, _ *unstructured.Unstructured) bool { return c["status"] == "True" })
}

// TestAGeneratorReadsNoOtherNamespaceWhereThatIsRefused: under --no-cross-namespace-refs a source of another namespace is a condition, and nothing is made.
func TestAGeneratorReadsNoOtherNamespaceWhereThatIsRefused(t *testing.T) {
	w := offWorld(t, configMaps("deploy", "a"))
	w.run(compose.RunOptions{Settings: controller.Settings{Tenancy: tenancy.Rules{References: tenancy.SameNamespace}}})
	w.source("repo", "url: file://"+w.repo.Dir+"\ninterval: 1h\nref: {branch: main}")
	const spec = "sources: [{alias: in, kind: GitRepository, name: repo%s}]\nartifacts: [{name: web, copy: [{from: \"@in/**\", to: \"@artifact/\"}]}]"
	w.generator("web", fmt.Sprintf(spec, ", namespace: kube-system"))
	w.generatorSays("web", "AccessDenied", "kube-system")
	if text := w.kubectl("get", "externalartifacts", "-o", "name"); strings.TrimSpace(text) != "" {
		t.Errorf("an artifact was made: %s", text)
	}
	w.generator("web", fmt.Sprintf(spec, ", namespace: "+w.ns))
	w.generatorSays("web", "Succeeded", "generated 1 artifact(s)")
}
