package stories

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// chartOfRefusal has an object of which the API server takes no other value, and one that is judged by what a status says.
const chartOfRefusal = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/values.yaml --
fixed: "1"
-- charts/web/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}, immutable: true, data: {fixed: {{ .Values.fixed | quote }}}}
`

// TestAnUpgradeThatFailsWithoutAnEndIsTriedWithPauses: the rollback puts right the object that was refused, which had the next upgrade begin at once, in
// as many releases a second as the API server took.
func TestAnUpgradeThatFailsWithoutAnEndIsTriedWithPauses(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartOfRefusal)
	w.release("web", "  upgrade: {remediation: {retries: -1}}\n")
	w.released("web", 1, "1.0.0")
	w.edit("charts/web/values.yaml", `"1"`, `"2"`)
	w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
	var at []time.Time // of each failure
	w.await(w.Watch(t, helmReleases, w.ns, "web"), func(o *unstructured.Unstructured) bool {
		if n, _, _ := unstructured.NestedInt64(o.Object, "status", "upgradeFailures"); int(n) > len(at) {
			at = append(at, time.Now())
		}
		return len(at) == 2
	})
	if pause := at[1].Sub(at[0]); pause < 5*time.Second {
		t.Errorf("the second upgrade failed %s after the first", pause)
	}
	t.Log(w.storedReleases("web"))
}

// TestValuesThatComeLaterAreWaitedFor: nothing watches a ConfigMap without the label reconcile.fluxcd.io/watch, and the interval is an hour.
func TestValuesThatComeLaterAreWaitedFor(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartOfRefusal)
	w.release("web", "  valuesFrom: [{kind: ConfigMap, name: later}]\n")
	w.helmReason("Ready", "False", "ValuesError", "later")
	w.kubectl("create", "configmap", "later", "--from-literal=values.yaml=fixed: first")
	w.released("web", 1, "1.0.0")
	w.kubectl("create", "configmap", "other", "--from-literal=values.yaml=- none")
	w.release("web", "  valuesFrom: [{kind: ConfigMap, name: other}]\n")
	w.helmReason("Ready", "False", "ValuesError", "values of ConfigMap", "other")
	w.release("without", "  valuesFrom: [{kind: ConfigMap, name: other, valuesKey: none, optional: true}]\n") // neither the object nor the key need be there
	w.released("without", 1, "1.0.0")
}

// TestAReleaseWaitsForWhatCannotBeJudgedYet: a rule names a field of a status that is not there yet.
func TestAReleaseWaitsForWhatCannotBeJudgedYet(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartOfRefusal)
	w.release("web", "  healthCheckExprs: [{apiVersion: v1, kind: ConfigMap, current: \"metadata.annotations.verdict == 'good'\"}]\n"+
		"  driftDetection: {ignore: [{paths: [/metadata/annotations/verdict], target: {kind: ConfigMap}}]}\n")
	w.helmReason("Ready", "Unknown", "Progressing")
	w.await(w.Watch(t, configmaps, w.ns, "web"), func(o *unstructured.Unstructured) bool { return true })
	if got := w.storedReleases("web"); got != "1:pending-install" {
		t.Errorf("before it can be judged, the releases are %s", got)
	}
	w.annotate(configmaps, "web", "verdict", "good")
	w.released("web", 1, "1.0.0")
}
