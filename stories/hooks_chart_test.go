package stories

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/testing/charttest"
)

// TestAChartThatIsPushedIsReleasedAtOnce: by a webhook of the repository of charts, of which a HelmChart and a chart that a HelmRelease names follow. Intervals are of hours. A HelmChart
// may be named, too; as in Flux it is looked for in the index that is known.
func TestAChartThatIsPushedIsReleasedAtOnce(t *testing.T) {
	w := offWorld(t, configMaps("unused", "x"))
	r := charttest.New(t)
	r.Demand("robot", password)
	r.Push("web", "1.0.0", webChart("1.0.0"))
	url := w.takesWebhooks(compose.RunOptions{})
	w.helmRepository("charts", "url: "+r.URL()+"\ninterval: 1h")
	w.releaseOf("web", "chart: web\nversion: 1.x\ninterval: 1h\nsourceRef: {kind: HelmRepository, name: charts}")
	w.chart("other", "chart: web\nversion: 1.x\ninterval: 1h\nsourceRef: {kind: HelmRepository, name: charts}")
	w.receives("repository", "s3cret", `resources: [{kind: HelmRepository, name: "*"}]`)
	w.receives("chart", "s3cret", "resources: [{kind: HelmChart, name: other}]")
	w.releaseSays("web", "True", "with chart web@1.0.0")
	w.releaseSays("other", "True", "with chart web@1.0.0")
	r.Push("web", "1.1.0", webChart("1.1.0"))
	for _, receiver := range []string{"repository", "chart"} {
		if status, text := w.webhook(url+w.hookPath(receiver), "push", "s3cret", "{}"); status != 200 || !strings.Contains(text, "requested: 1") {
			t.Fatalf("%s: %d %s", receiver, status, text)
		}
	}
	w.releaseSays("web", "True", "with chart web@1.1.0")
	w.releaseSays("other", "True", "with chart web@1.1.0")
}
