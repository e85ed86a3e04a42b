package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAChartThatLeavesTheTopOfItsRepositoryIsNotReplacedByAnother: a HelmRelease of the chart at the top keeps its release and its objects when a commit moves
// that chart into a directory, and adds another chart beside it.
func TestAChartThatLeavesTheTopOfItsRepositoryIsNotReplacedByAnother(t *testing.T) {
	chart := func(dir, name, version string) map[string]string {
		return map[string]string{
			dir + "Chart.yaml":          fmt.Sprintf("{apiVersion: v2, name: %s, version: %s}\n", name, version),
			dir + "templates/data.yaml": fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {version: %q}\n", name, version),
		}
	}
	w := newWorld(t, policy.Policy{}, "-- README.md --\na chart\n")
	w.repo.Commit(chart("", "web", "1.0.0"), "a chart at the top")
	w.Apply(t, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: charts, namespace: %[1]s}
spec: {url: "file://%[2]s", interval: 1h, ref: {branch: main}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: %[1]s}
spec:
  interval: 1h
  chart: {spec: {chart: ./, sourceRef: {kind: GitRepository, name: charts}}}
`, w.ns, w.repo.Dir))
	t.Cleanup(w.removeApps)
	w.released("web", 1, "1.0.0")
	uid := w.get(configmaps, "web").GetUID()

	next := chart("web/", "web", "1.0.0")
	for name, text := range chart("api/", "api", "1.0.0") {
		next[name] = text
	}
	w.repo.ForcePush(next, "charts in directories")
	w.helmFails("web", "no Helm chart: it has no Chart.yaml")
	w.looksAgain("web", "again")
	if got := w.get(configmaps, "web"); got == nil || got.GetUID() != uid {
		t.Error("the object of the release is not the one that it was")
	}
	if w.isThere(configmaps, "api") {
		t.Error("the other chart was installed")
	}
	if got := w.storedReleases("web"); got != "1:deployed" {
		t.Errorf("the stored releases are %s", got)
	}

	// The path of the directory goes on with the release.
	w.patch(helmReleases, "web", map[string]any{"spec": map[string]any{"chart": map[string]any{"spec": map[string]any{"chart": "./web"}}}}, "kubectl-edit")
	w.helmCondition("web", "Ready", isTrue)
	if got := w.get(configmaps, "web"); got == nil || got.GetUID() != uid {
		t.Error("the object of the release was made again")
	}
}
