package stories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
)

// chartThatFails has a hook after its objects that ends as a value says.
const chartThatFails = `
-- charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- charts/web/values.yaml --
code: "3"
-- charts/web/templates/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {version: "{{ .Chart.Version }}", random: "{{ randAlphaNum 20 }}"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {version: "{{ .Chart.Version }}"}
-- charts/web/templates/hook.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: after, annotations: {helm.sh/hook: "post-install,post-upgrade"}}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: {{ .Values.code | quote }}}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
`

// failsWith has the stock helm carry out an action on the chart that fails.
func (w *world) failsWith(args ...string) {
	w.t.Helper()
	dir := w.t.TempDir()
	for name, text := range chartFiles(chartThatFails) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	if out, err := w.helmCommand(append(args, filepath.Join(dir, "charts/web"))...).CombinedOutput(); err == nil {
		w.t.Fatalf("helm %v succeeds:\n%s", args, out)
	}
}

// TestAFailedReleaseOfOthersIsAdoptedAsItIs: helm-controller has no attempt left, so an adoption begins none, changes no value, and ends. What is asked for
// later is another attempt.
func TestAFailedReleaseOfOthersIsAdoptedAsItIs(t *testing.T) {
	for name, spec := range map[string]string{"drift stays": "", "drift is corrected": "  driftDetection: {mode: enabled}\n"} {
		t.Run(name, func(t *testing.T) {
			w := offWorld(t, chartThatFails)
			w.failsWith("install", "web")
			w.renameManager(configmaps, "web", "helm-controller")
			w.renameManager(configmaps, "other", "helm-controller")
			w.patch(configmaps, "web", map[string]any{"data": map[string]any{"version": "of a person"}}, "kubectl-edit")
			w.kubectl("delete", "configmap", "other")
			s := w.Watch(t, configmaps, w.ns, "web")
			w.await(s, exists)
			stop := w.start(policy.Policy{Mode: policy.Observe})
			w.release("web", spec)
			t.Cleanup(func() { w.freed(helmReleases, "web") })
			w.leftStalled("install", 1)
			w.saysOf(w.truce(), 0, "adopt helmrelease/web --timeout=20s", "adopted (beside), 1 object")
			w.stalled("web")
			w.await(s, func(o *unstructured.Unstructured) bool { return isOurs(o, "helm-controller") })
			stop()
			w.start(policy.Policy{Mode: policy.Observe})
			w.looksAgain("web", "after the start")
			w.stalled("web")
			sameValues(t, s.Values())
			if got := w.storedReleases("web"); got != "1:failed" {
				t.Errorf("after the adoption the releases are %s", got)
			}
			if w.isThere(configmaps, "other") {
				t.Error("the adoption has created what was deleted before it")
			}
			w.edit("charts/web/values.yaml", `"3"`, `"0"`)
			w.edit("charts/web/Chart.yaml", "version: 1.0.0", "version: 1.1.0")
			w.released("web", 2, "1.1.0")
			w.await(s, func(o *unstructured.Unstructured) bool { return text(o, "data", "version") == "1.1.0" })
			w.until("the release to have created its object", func() bool { return w.isThere(configmaps, "other") })
		})
	}
}

// leftStalled gives the HelmRelease web the status with which helm-controller leaves one of which an action has failed, and suspends it.
func (w *world) leftStalled(action string, failures int) {
	w.t.Helper()
	const ofNoValues = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	status := fmt.Sprintf(`"observedGeneration":1,"failures":%[2]d,"%[1]sFailures":%[2]d,"lastAttemptedGeneration":1,"lastAttemptedRevision":"1.0.0","lastAttemptedReleaseAction":"%[1]s","lastAttemptedConfigDigest":"%[3]s"`, action, failures, ofNoValues)
	conditions := strings.ReplaceAll(`{"type":"Ready","status":"False","reason":"REASON","message":"failed","lastTransitionTime":"2026-01-01T00:00:00Z"},
		{"type":"Released","status":"False","reason":"REASON","message":"failed","lastTransitionTime":"2026-01-01T00:00:00Z"},
		{"type":"Stalled","status":"True","reason":"RetriesExceeded","message":"Failed after 1 attempt(s)","lastTransitionTime":"2026-01-01T00:00:00Z"}`, "REASON", strings.ToUpper(action[:1])+action[1:]+"Failed")
	w.kubectl("patch", "helmrelease.helm.toolkit.fluxcd.io/web", "--subresource=status", "--type=merge", "-p", `{"status":{`+status+`,"conditions":[`+conditions+`]}}`)
	w.kubectl("patch", "helmrelease.helm.toolkit.fluxcd.io/web", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
}

// helmControllerRuns is a workload as Flux's install manifest has it.
const helmControllerRuns = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: helm-controller, namespace: NS, labels: {app: helm-controller}}
spec:
  replicas: 1
  selector: {matchLabels: {app: helm-controller}}
  template:
    metadata: {labels: {app: helm-controller}}
    spec: {containers: [{name: manager, image: "registry.example/helm-controller:v1"}]}
`

// TestASuspendedReleaseIsAdoptedBesideARunningController: helm-controller leaves Reconciling=True behind where the values could not be read.
func TestASuspendedReleaseIsAdoptedBesideARunningController(t *testing.T) {
	w := offWorld(t, strings.ReplaceAll(chartThatFails, `code: "3"`, `code: "0"`))
	apartFromOthers(t)
	w.helm("install", "web", w.chartDirectory())
	w.renameManager(configmaps, "web", "helm-controller")
	w.renameManager(configmaps, "other", "helm-controller")
	w.Apply(t, replaceNS(helmControllerRuns, w.ns))
	w.start(policy.Policy{Mode: policy.Observe})
	w.release("web", "  suspend: true\n")
	t.Cleanup(func() { w.freed(helmReleases, "web") })
	leaves := func(ready string) {
		w.kubectl("patch", "helmrelease.helm.toolkit.fluxcd.io/web", "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[`+ready+`,
			{"type":"Reconciling","status":"True","reason":"Progressing","message":"Fulfilling prerequisites","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	}
	truce := w.truce()
	leaves(`{"type":"Ready","status":"Unknown","reason":"Progressing","message":"Running 'upgrade' action","lastTransitionTime":"2026-01-01T00:00:00Z"}`)
	w.saysOf(truce, 1, "adopt helmrelease/web", "is in the middle of a run")
	leaves(`{"type":"Ready","status":"False","reason":"UpgradeFailed","message":"failed, and is rolled back","lastTransitionTime":"2026-01-01T00:00:00Z"}`)
	w.saysOf(truce, 1, "adopt helmrelease/web", "is in the middle of a run")
	leaves(`{"type":"Ready","status":"False","reason":"ValuesError","message":"could not find ConfigMap","lastTransitionTime":"2026-01-01T00:00:00Z"}`)
	w.saysOf(truce, 0, "adopt helmrelease/web", "adopted (beside), 2 objects")
	w.released("web", 1, "1.0.0")
}
