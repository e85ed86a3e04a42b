package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// chart creates a HelmChart with the lines of its spec, and a HelmRelease of it.
func (w *world) chart(name, spec string) {
	w.t.Helper()
	indented := strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")
	w.Apply(w.t, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  interval: 1h
  %[3]s
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %[1]s, namespace: %[2]s}
spec: {interval: 1h, chartRef: {kind: HelmChart, name: %[1]s}}
`, name, w.ns, indented))
	w.t.Cleanup(w.removeApps)
}

// mapSays waits for the ConfigMap of a release.
func (w *world) mapSays(release, want string) {
	w.t.Helper()
	w.await(w.Watch(w.t, configmaps, w.ns, release), func(o *unstructured.Unstructured) bool { return value(o, "k") == want })
}

// inDirectory are the files of a chart in a source of files.
func inDirectory(dir, version string) string {
	out := fmt.Sprintf("-- %s/Chart.yaml --\napiVersion: v2\nname: files\nversion: %s\n", dir, version)
	for name, text := range webChart(version) {
		out += fmt.Sprintf("-- %s/%s --\n%s", dir, name, text)
	}
	return out
}

// TestHelmChartsAreSourcesOfTheirOwn follows a chart of a HelmRepository and two of a GitRepository: by its version, and by the revision. What is wrong with
// a HelmChart is in its status, and on the HelmReleases that read it.
func TestHelmChartsAreSourcesOfTheirOwn(t *testing.T) {
	w := newWorld(t, policy.Policy{}, inDirectory("charts/files", "1.0.0")+"\n-- charts/broken/Chart.yaml --\n{apiVersion: v2, name: broken, version: 1.0.0, dependencies: [{name: a, repository: \"@stable\"}]}\n")
	r := charttest.New(t)
	r.Push("web", "1.0.0", webChart("1.0.0"))
	w.helmRepository("charts", "url: "+r.URL()+"\ninterval: 1s")
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: fleet, namespace: %s}\nspec: {url: \"file://%s\", interval: 1h, ref: {branch: main}}\n", w.ns, w.repo.Dir))
	w.chart("web", "chart: web\nversion: 1.x\nvaluesFiles: [values-prod.yaml]\nsourceRef: {kind: HelmRepository, name: charts}")
	w.chart("files", "chart: charts/files\nsourceRef: {kind: GitRepository, name: fleet}")
	w.chart("revisions", "chart: ./charts/files\nreconcileStrategy: Revision\nsourceRef: {kind: GitRepository, name: fleet}")
	w.chart("absent", "chart: charts/absent\nsourceRef: {kind: GitRepository, name: nowhere}")
	w.chart("broken", "chart: charts/broken\nsourceRef: {kind: GitRepository, name: fleet}")
	w.releaseSays("web", "True", "with chart web@1.0.0+1")
	w.mapSays("web", "1.0.0 prod")
	w.releaseSays("files", "True", "with chart files@1.0.0")
	w.releaseSays("revisions", "True", "with chart files@1.0.0+"+w.repo.Head()[:12])
	w.sourceReason(helmCharts, "broken", "DependencyBuildError")
	w.sourceReason(helmCharts, "absent", "SourceUnavailable")
	w.releaseSays("absent", "False", "GitRepository "+w.ns+"/nowhere is not in the cluster")
	for name, want := range map[string]string{"web": "packaged 'web' chart with version '1.0.0+1' and merged values files [web/values-prod.yaml]", "files": "packaged 'files' chart with version '1.0.0'"} {
		if code, out := w.command("get", "sources", "chart", name); code != 0 || !strings.Contains(out, want) {
			t.Errorf("truce get sources chart %s: exit code %d, %s; want %s", name, code, out, want)
		}
	}

	// a new version, and a commit that leaves the version as it is
	r.Push("web", "1.1.0", webChart("1.1.0"))
	w.repo.Commit(map[string]string{"charts/files/values.yaml": "from: commit\n"}, "same version")
	w.releaseSays("web", "True", "with chart web@1.1.0+1")
	w.releaseSays("revisions", "True", "with chart files@1.0.0+"+w.repo.Head()[:12])
	w.mapSays("revisions", "1.0.0 commit")
	w.mapSays("files", "1.0.0 values")
	w.repo.Commit(map[string]string{"charts/files/Chart.yaml": "apiVersion: v2\nname: files\nversion: 1.0.1\n"}, "next version")
	w.releaseSays("files", "True", "with chart files@1.0.1")
	w.mapSays("files", "1.0.0 commit")

	// one that is suspended stays; a request looks at its source, too
	for _, args := range [][]string{{"suspend", "source", "chart", "web"}, {"resume", "source", "chart", "web"}, {"reconcile", "source", "chart", "web", "--with-source"}, {"reconcile", "helmrelease", "web", "--with-source"}} {
		if code, out := w.command(args...); code != 0 {
			t.Errorf("truce %v: exit code %d, %s", args, code, out)
		}
	}
	if code, out := w.command("export", "source", "chart", "web"); code != 0 || !strings.Contains(out, "kind: HelmChart") {
		t.Errorf("truce export: exit code %d, %s", code, out)
	}
	if code, out := w.command("diff", "helmrelease", "files"); code != 0 {
		t.Errorf("truce diff: exit code %d, %s", code, out)
	}

	w.patch(helmCharts, "web", map[string]any{"spec": map[string]any{"valuesFiles": []any{"other.yaml"}}}, "kubectl-edit")
	w.sourceReason(helmCharts, "web", "ValuesFilesError")
	w.mapSays("web", "1.1.0 prod")
	w.delete(gitRepositories, w.ns, "fleet")
	w.sourceReason(helmCharts, "files", "SourceUnavailable")
	w.mapSays("files", "1.0.0 commit")
}
