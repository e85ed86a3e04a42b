package stories

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAnUpgradeAnnouncesACountThatFalls: the autoscaler of a chart's Deployment is a person's, who deletes it between two releases. The count stays as it is, as
// drift does there; the upgrade that takes it to the chart's says so first.
func TestAnUpgradeAnnouncesACountThatFalls(t *testing.T) {
	for _, mode := range []string{"disabled", "warn"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t, policy.Policy{}, strings.Replace(chartWithHPA, "charts/web/templates/hpa.yaml", "hpa/hpa.yaml", 1))
			d := w.Watch(t, deployments, w.ns, "web")
			w.release("web", "  driftDetection: {mode: "+mode+"}\n")
			w.released("web", 1, "1.0.0")
			_, scaler, _ := strings.Cut(chartWithHPA, "-- charts/web/templates/hpa.yaml --")
			scaler, _, _ = strings.Cut(scaler, "-- charts/")
			w.piped(strings.ReplaceAll(scaler, "{{ .Release.Name }}", "web"), "create", "--field-manager=kubectl-create")
			w.load(8)
			w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 8 })
			w.kubectl("delete", "hpa", "web")
			w.looksAgain("web", "without an autoscaler")
			if n := replicas(w.get(deployments, "web")); n != 8 {
				t.Errorf("between releases the count is %d", n)
			}
			w.edit("charts/web/Chart.yaml", "1.0.0", "1.1.0")
			w.released("web", 2, "1.1.0")
			w.await(d, func(o *unstructured.Unstructured) bool { return replicas(o) == 3 })
			w.events("ClaimEnds", "web .spec.replicas drops from 8 to 3 without HPA "+w.ns+"/web: Git names 3")
		})
	}
}
