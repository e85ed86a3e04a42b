package stories

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/controller"
	"github.com/truce-gitops/truce/internal/source/upstream"
	"github.com/truce-gitops/truce/internal/testing/charttest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// argoSettings sets what argocd-cm of the story's namespace says.
func (w *world) argoSettings(key, value string) {
	w.t.Helper()
	w.Apply(w.t, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: argocd-cm, namespace: %s}\ndata: {%s: %q}\n", w.ns, key, value))
}

// TestAKustomizationOfAnApplicationHasItsChartsFetched where argocd-cm has --enable-helm: their repository is not asked before.
func TestAKustomizationOfAnApplicationHasItsChartsFetched(t *testing.T) {
	charts := charttest.New(t)
	charts.Push("web", "1.0.0", map[string]string{"templates/c.yaml": chartValue, "values.yaml": "who: chart"})
	entry := "helmCharts:\n- {name: web, releaseName: shop, version: 1.0.0, repo: " + charts.URL() + ", valuesInline: {who: inline}}\n"
	w := offArgoWorld(t, "-- app/kustomization.yaml --\n"+entry)
	options := compose.RunOptions{Settings: controller.Settings{Remotes: upstream.Hosts{Listed: []string{"http://127.0.0.1"}}}}
	stop := w.run(options)
	w.application("app", "app", automated)
	w.argoCondition("app", "ComparisonError", "kustomize.buildOptions in ConfigMap argocd-cm")
	if asked := charts.Requests(); len(asked) > 0 {
		t.Errorf("the repository was asked: %v", asked)
	}
	stop() // what argocd-cm says holds for a while

	w.argoSettings("kustomize.buildOptions", "--load-restrictor LoadRestrictionsNone --enable-helm")
	w.run(options)
	t.Cleanup(w.removeApps) // before this controller ends
	w.inSync("app")
	w.await(w.Watch(t, configmaps, w.ns, "shop"), func(o *unstructured.Unstructured) bool {
		return value(o, "version") == "1.0.0" && value(o, "who") == "inline"
	})
}
