package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/charttest"
)

// TestAPackagedChartMayLieInASourceOfFiles: what helm package has made, committed to Git, is installed by a HelmRelease and by a HelmChart, as by Flux. Files of
// values are beside it.
func TestAPackagedChartMayLieInASourceOfFiles(t *testing.T) {
	packaged := func(version string) string { return string(charttest.Package("web", version, webChart(version))) }
	w := newWorld(t, policy.Policy{}, "-- prod.yaml --\nfrom: beside\n")
	w.repo.Commit(map[string]string{"charts/web.tgz": packaged("1.0.0"), "charts/broken.tgz": "none"}, "a packaged chart")
	w.Apply(t, fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: repo, namespace: %s}\nspec: {url: \"file://%s\", interval: 1h, ref: {branch: main}}\n", w.ns, w.repo.Dir))
	release := func(name, chart string) {
		w.Apply(t, fmt.Sprintf(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %s, namespace: %s}
spec: {interval: 1h, chart: {spec: {chart: %s, valuesFiles: [prod.yaml], sourceRef: {kind: GitRepository, name: repo}}}}
`, name, w.ns, chart))
	}
	release("web", "charts/web.tgz")
	release("broken", "./charts/broken.tgz")
	w.chart("made", "chart: charts/web.tgz\nreconcileStrategy: Revision\nsourceRef: {kind: GitRepository, name: repo}")
	w.chart("bad", "chart: charts/broken.tgz\nsourceRef: {kind: GitRepository, name: repo}")
	w.releaseSays("web", "True", "with chart web@1.0.0")
	w.mapSays("web", "1.0.0 beside")
	w.releaseSays("made", "True", "with chart web@1.0.0+"+w.repo.Head()[:12])
	w.mapSays("made", "1.0.0 values")
	w.releaseSays("broken", "False", "charts/broken.tgz: it is a file, and no chart that helm package has made: ")
	w.sourceReason(helmCharts, "bad", "InvalidChartReference")

	w.repo.Commit(map[string]string{"charts/web.tgz": packaged("1.1.0")}, "next version")
	w.releaseSays("web", "True", "with chart web@1.1.0")
	w.mapSays("web", "1.1.0 beside")
	w.mapSays("made", "1.1.0 values")
	w.kubectl("patch", "configmap/web", "--type=merge", "-p", `{"data":{"k":"mine"}}`)
	if code, out := w.command("diff", "helmrelease", "web"); code != 1 || !strings.Contains(out, `"1.1.0 beside" (Git) vs "mine" (live`) {
		t.Errorf("truce diff: exit code %d, %s", code, out)
	}
}
