package discover_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/lint/discover"
	"github.com/truce-gitops/truce/internal/testing/charttest"
)

// TestAPackagedChartIsRendered: of a HelmRelease whose GitRepository is not in the repository, as that of a directory.
func TestAPackagedChartIsRendered(t *testing.T) {
	s := take(t, map[string]string{
		"charts/web.tgz": string(charttest.Package("web", "1.0.0", map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"})),
		"release.yaml": "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web, namespace: shop}\n" +
			"spec: {interval: 1h, chart: {spec: {chart: charts/web.tgz, sourceRef: {kind: GitRepository, name: fleet}}}}\n",
	}, discover.Options{Kinds: kinds()})
	if got, want := text(s), "  ConfigMap shop/a charts/web.tgz/templates/a.yaml:1\n"; !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}
