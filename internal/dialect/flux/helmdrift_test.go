package flux

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/given"
)

// TestAnEmptyPointerIsAboutWholeObjects: their drift is left, as with the annotation driftDetection: disabled, and no field of them is withheld.
func TestAnEmptyPointerIsAboutWholeObjects(t *testing.T) {
	const cr = `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {name: web, namespace: apps}, spec: {interval: 10m,
  chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: repo}}},
  driftDetection: {mode: enabled, ignore: [{paths: [""], target: {kind: ConfigMap}}, {paths: ["", /spec/replicas], target: {name: "db|cache"}}, {paths: [/data]}]}}}`
	a := HelmReleases{}.App(given.Object(t, cr), policy.Policy{Remediation: policy.Remediate})
	for id, want := range map[object.ID]string{
		{Kind: "ConfigMap", Name: "web"}:                  "spec.driftDetection.ignore[0]",
		{Group: "apps", Kind: "Deployment", Name: "db"}:   "spec.driftDetection.ignore[1]",
		{Group: "apps", Kind: "Deployment", Name: "web"}:  "",
		{Group: "apps", Kind: "Deployment", Name: "dbs"}:  "",
		{Group: "batch", Kind: "Job", Name: "cache"}:      "spec.driftDetection.ignore[1]",
		{Group: "batch", Kind: "Job", Name: "ConfigMap2"}: "",
	} {
		o := object.Object{"apiVersion": id.Group + "/v1", "kind": id.Kind, "metadata": map[string]any{"name": id.Name}}
		if got := a.OptOuts.Of(o, nil); got.Mark != want || (got.Effect == optout.KeepDrift) != (want != "") {
			t.Errorf("%s: %+v, want the effect of %q", id, got, want)
		}
	}
	var rules []string
	for _, r := range a.Ignore {
		rules = append(rules, fmt.Sprint(r.Name, r.Pointers))
	}
	if diff := cmp.Diff([]string{"spec.driftDetection.ignore[1][/spec/replicas]", "spec.driftDetection.ignore[2][/data]"}, rules); diff != "" || len(a.Problems) > 0 {
		t.Errorf("problems %v, rules (-want +got):\n%s", a.Problems, diff)
	}
	if others := (HelmReleases{}).App(given.Object(t, strings.ReplaceAll(cr, `""`, "/kind2")), policy.Policy{}); len(others.OptOuts) >= len(a.OptOuts) {
		t.Errorf("a release without an empty pointer has the opt-outs %+v", others.OptOuts)
	}
}
