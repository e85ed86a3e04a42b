package stories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// chartOfConfig is a chart of one ConfigMap.
const chartOfConfig = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/values.yaml --
env: chart
token: none
-- charts/web/templates/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}"}
data: {env: "{{ .Values.env }}", token: "{{ .Values.token }}", mine: git}
`

const helmValues = `
apiVersion: v1
kind: ConfigMap
metadata: {name: values, namespace: NAMESPACE, labels: {reconcile.fluxcd.io/watch: Enabled}}
data: {values.yaml: "env: staging"}
---
apiVersion: v1
kind: Secret
metadata: {name: hidden, namespace: NAMESPACE, labels: {reconcile.fluxcd.io/watch: Enabled}}
stringData: {token: canary-one}
`

// TestTheFieldsOfAHelmRelease: all HelmReleases of the story are of one chart. Their interval is an hour, so that what comes, comes from events.
func TestTheFieldsOfAHelmRelease(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartOfConfig)
	w.release("bad", "  dependsOn: [{name: none, readyExpr: \"(\"}]\n")
	for _, scene := range []struct {
		name string
		play func(*world)
	}{
		{"values come from a ConfigMap and a Secret", helmValuesChange},
		{"a dependency is ready by an expression", helmDependency},
		{"a service account has the right to its objects and its releases alone", helmAccount},
		{"drift is corrected, reported or left, as the mode says", helmDriftModes},
		{"a suspended release stays as it is", helmSuspended},
		{"a release waits for what its expressions say, as long as its timeout", helmExpressions},
		{"an upgrade keeps the values of the release before", helmPreservedValues},
		{"the empty pointer leaves the drift of whole objects", helmWholeObjects},
		{"an object opts out of drift detection, until another release is asked for", helmForced},
	} {
		scene.play(w)
		if t.Failed() {
			t.Fatalf("in the scene: %s", scene.name)
		}
	}
	w.helmFails("bad", "spec.dependsOn[0].readyExpr") // it has delayed none of the others
	w.showsNoCanary(w.kubectl("get", "helmreleases.helm.toolkit.fluxcd.io", "-o", "yaml"))
}

// holds waits until a ConfigMap of the story has a text at a key.
func (w *world) holds(name, key, want string) {
	w.t.Helper()
	w.await(w.Watch(w.t, configmaps, w.ns, name), func(o *unstructured.Unstructured) bool { return text(o, "data", key) == want })
}

// helmFails waits until a HelmRelease is not Ready, with a message.
func (w *world) helmFails(name, part string) {
	w.t.Helper()
	w.helmCondition(name, "Ready", func(c map[string]any) bool { return c["status"] == "False" && contains(c["message"], part) })
}

// byHand changes a key of a ConfigMap as a person does.
func (w *world) byHand(name, key, value string) {
	w.t.Helper()
	w.patch(configmaps, name, map[string]any{"data": map[string]any{key: value}}, "kubectl-edit")
}

func helmValuesChange(w *world) {
	w.Apply(w.t, strings.ReplaceAll(helmValues, "NAMESPACE", w.ns))
	w.release("values", "  valuesFrom:\n  - {kind: ConfigMap, name: values}\n  - {kind: Secret, name: hidden, valuesKey: token, targetPath: token}\n")
	w.holds("values", "token", "canary-one")
	w.released("values", 1, "1.0.0")
	w.kubectl("patch", "configmap/values", "-p", `{"data":{"values.yaml":"env: production"}}`)
	w.released("values", 2, "1.0.0")
	w.kubectl("patch", "secret/hidden", "-p", `{"stringData":{"token":"canary-two"}}`)
	w.released("values", 3, "1.0.0")
	w.holds("values", "token", "canary-two")
	w.holds("values", "env", "production")
}

func helmDependency(w *world) {
	w.release("after", "  dependsOn: [{name: values, readyExpr: \"dep.status.history[0].version > 2 && has(dep.metadata.annotations) && dep.metadata.annotations['stories/go'] == 'on'\"}]\n")
	w.helmFails("after", "dependency '"+w.ns+"/values' is not ready according to readyExpr eval")
	if w.get(configmaps, "after") != nil {
		w.t.Error("it was applied before what it depends on was ready")
	}
	w.annotate(helmReleases, "values", "stories/go", "on")
	w.released("after", 1, "1.0.0")
}

func helmAccount(w *world) {
	w.impersonates()
	w.lets("tenant", w.ns, allOfConfigMaps)
	w.release("tenant", "  serviceAccountName: tenant\n  install: {strategy: {name: RetryOnFailure, retryInterval: 1s}}\n  upgrade: {strategy: {name: RetryOnFailure, retryInterval: 1s}}\n")
	w.helmFails("tenant", `User "`+w.user("tenant")+`" cannot list resource "secrets"`)
	if w.get(configmaps, "tenant") != nil {
		w.t.Error("it was applied without the right to store a release")
	}
	w.lets("tenant", w.ns, `{apiGroups: [""], resources: [configmaps, secrets], verbs: ["*"]}`)
	w.released("tenant", 1, "1.0.0")
	for _, e := range w.Audit(w.t, func(e kubetest.Entry) bool {
		return w.byTruce(e) && e.Namespace == w.ns && (e.Name == "tenant" && e.Resource.Resource == "configmaps" || strings.HasPrefix(e.Name, "sh.helm.release.v1.tenant."))
	}) {
		if e.User != w.user("tenant") {
			w.t.Errorf("%s of %s %s was made as %s", e.Verb, e.Resource.Resource, e.Name, e.User)
		}
	}
}

func helmDriftModes(w *world) {
	modes := []string{"disabled", "warn", "enabled"}
	for _, mode := range modes {
		w.release(mode, "  driftDetection: {mode: "+mode+", ignore: [{paths: [/data/mine], target: {kind: ConfigMap}}]}\n")
		w.released(mode, 1, "1.0.0")
		w.byHand(mode, "mine", "mine")
		w.byHand(mode, "env", "by hand")
	}
	w.holds("enabled", "env", "chart")
	w.helmCondition("warn", "Drifted", func(c map[string]any) bool { return c["status"] == "True" })
	for _, mode := range modes[:2] {
		w.annotate(helmReleases, mode, "reconcile.fluxcd.io/requestedAt", "look")
		w.await(w.Watch(w.t, helmReleases, w.ns, mode), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledReconcileAt") == "look" })
		if got := text(w.get(configmaps, mode), "data", "env"); got != "by hand" {
			w.t.Errorf("%s: the drift is %q", mode, got)
		}
	}
	for _, mode := range modes {
		if got := text(w.get(configmaps, mode), "data", "mine"); got != "mine" {
			w.t.Errorf("%s: the ignored field is %q", mode, got)
		}
		if got := w.storedReleases(mode); got != "1:deployed" {
			w.t.Errorf("%s: drift has made the releases %q", mode, got)
		}
	}
	conditions := entries(w.get(helmReleases, "disabled"), "status", "conditions")
	if slices.ContainsFunc(conditions, func(c map[string]any) bool { return c["type"] == "Drifted" }) {
		w.t.Error("a disabled drift detection has a condition Drifted")
	}
}

func helmSuspended(w *world) {
	w.suspendKind(helmReleases, "HelmRelease", "enabled")
	w.byHand("enabled", "env", "while suspended")
	w.edit("charts/web/Chart.yaml", "1.0.0", "1.1.0")
	for _, name := range []string{"disabled", "warn", "after"} {
		w.released(name, 2, "1.1.0")
		w.holds(name, "env", "chart") // a release is applied whole in every mode
	}
	if got := text(w.get(configmaps, "enabled"), "data", "env") + " " + w.storedReleases("enabled"); got != "while suspended 1:deployed" {
		w.t.Errorf("suspended, it is %s", got)
	}
	w.patch(helmReleases, "enabled", map[string]any{"spec": map[string]any{"suspend": false}}, "kubectl")
	w.released("enabled", 2, "1.1.0")
	w.holds("enabled", "env", "chart")
}

func helmExpressions(w *world) {
	const expressions = "  healthCheckExprs: [{apiVersion: v1, kind: ConfigMap, current: \"has(data.mine) && data.mine == 'done'\"}]\n" +
		"  driftDetection: {ignore: [{paths: [/data/mine], target: {kind: ConfigMap}}]}\n"
	w.release("checked", expressions)
	w.release("late", "  timeout: 1s\n"+expressions)
	w.helmCondition("late", "Released", func(c map[string]any) bool {
		return c["status"] == "False" && c["reason"] == "InstallFailed" && contains(c["message"], "timeout")
	})
	if got := w.storedReleases("late") + " " + w.storedReleases("checked"); got != "1:failed 1:pending-install" {
		w.t.Errorf("the releases are %s", got)
	}
	w.byHand("checked", "mine", "done")
	w.released("checked", 1, "1.1.0")
}

func helmPreservedValues(w *world) {
	w.release("preserved", "  upgrade: {preserveValues: true}\n  values: {env: first, token: first}\n")
	w.released("preserved", 1, "1.1.0")
	w.release("preserved", "  upgrade: {preserveValues: true}\n  values: {token: second}\n")
	w.released("preserved", 2, "1.1.0")
	w.holds("preserved", "token", "second")
	w.holds("preserved", "env", "first")
	w.release("preserved", "  values: {token: third}\n")
	w.released("preserved", 3, "1.1.0")
	w.holds("preserved", "token", "third")
	w.holds("preserved", "env", "chart")
}

func helmWholeObjects(w *world) {
	const left = "  driftDetection: {mode: enabled, ignore: [{paths: [\"\"], target: {kind: ConfigMap}}]}\n"
	w.release("whole", left)
	w.released("whole", 1, "1.1.0")
	w.byHand("whole", "env", "by hand")
	w.annotate(helmReleases, "whole", "reconcile.fluxcd.io/requestedAt", "look")
	w.await(w.Watch(w.t, helmReleases, w.ns, "whole"), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledReconcileAt") == "look" })
	if got := text(w.get(configmaps, "whole"), "data", "env") + " " + w.storedReleases("whole"); got != "by hand 1:deployed" {
		w.t.Errorf("left out of drift detection, it is %s", got)
	}
	w.release("whole", left+"  values: {token: second}\n")
	w.released("whole", 2, "1.1.0")
	w.holds("whole", "token", "second")
	w.holds("whole", "env", "chart") // an upgrade changes it all the same
	w.byHand("whole", "env", "once more")
	w.release("whole", "  driftDetection: {mode: enabled}\n  values: {token: second}\n")
	w.holds("whole", "env", "chart")
}

func helmForced(w *world) {
	w.edit("charts/web/templates/web.yaml", "metadata: {name:", "metadata: {annotations: {helm.toolkit.fluxcd.io/driftDetection: disabled}, name:")
	w.edit("charts/web/Chart.yaml", "1.1.0", "1.2.0")
	w.released("enabled", 3, "1.2.0")
	w.byHand("enabled", "env", "opted out")
	w.annotate(helmReleases, "enabled", "reconcile.fluxcd.io/requestedAt", "look")
	w.await(w.Watch(w.t, helmReleases, w.ns, "enabled"), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledReconcileAt") == "look" })
	if got := text(w.get(configmaps, "enabled"), "data", "env") + " " + w.storedReleases("enabled"); got != "opted out 1:superseded 2:superseded 3:deployed" {
		w.t.Errorf("opted out of drift detection, it is %s", got)
	}
	w.patch(helmReleases, "enabled", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"reconcile.fluxcd.io/requestedAt": "force", "reconcile.fluxcd.io/forceAt": "force",
	}}}, "kubectl")
	w.released("enabled", 4, "1.2.0")
	w.holds("enabled", "env", "chart")
	w.await(w.Watch(w.t, helmReleases, w.ns, "enabled"), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledForceAt") == "force" })
	w.annotate(helmReleases, "enabled", "reconcile.fluxcd.io/requestedAt", "again")
	w.await(w.Watch(w.t, helmReleases, w.ns, "enabled"), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledReconcileAt") == "again" })
	if got := w.storedReleases("enabled"); !strings.HasSuffix(got, " 4:deployed") {
		w.t.Errorf("one request has made the releases %s", got)
	}
	w.patch(helmReleases, "enabled", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"reconcile.fluxcd.io/requestedAt": "third", "reconcile.fluxcd.io/forceAt": "another", "reconcile.fluxcd.io/resetAt": "another",
	}}}, "kubectl")
	w.await(w.Watch(w.t, helmReleases, w.ns, "enabled"), func(o *unstructured.Unstructured) bool {
		return text(o, "status", "lastHandledForceAt") == "another" && text(o, "status", "lastHandledResetAt") == "another"
	})
	if got := w.storedReleases("enabled"); !strings.HasSuffix(got, " 4:deployed") {
		w.t.Errorf("a token that is not that of the request has made the releases %s", got)
	}
}

// chartsInGit is a HelmRelease that a Kustomization applies, so that its values have a file and a line.
const chartsInGit = chartOfConfig + `
-- apps/web.yaml --
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web, namespace: NAMESPACE}
spec:
  interval: 1h
  chart: {spec: {chart: charts/web, sourceRef: {kind: GitRepository, name: repo}}}
  valuesFrom: [{kind: ConfigMap, name: values}]
  values:
    token: open
`

func TestWhyNamesTheValuesOfAChart(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartsInGit)
	w.Apply(t, strings.ReplaceAll(strings.Replace(helmValues, "env: staging", "token: none", 1), "NAMESPACE", w.ns))
	w.app("apps", "./apps", defaultSpec)
	w.released("web", 1, "1.0.0")
	truce := w.truce()
	w.saysOf(truce, 0, "why configmap/web .data.token", `The app wants "open": HelmRelease `+w.ns+"/web spec.values.token (apps/web.yaml:9, of Kustomization "+w.ns+"/apps) (values) says so.")
	w.saysOf(truce, 0, "why configmap/web .data.env", `Git wants "chart": charts/web/values.yaml:1 (values) says so.`)
	w.saysOf(truce, 0, "why configmap/web .data.mine", "charts/web/templates/web.yaml:1 (template) has a part in it")
	w.saysOf(truce, 0, "blame configmap/web", "charts/web/values.yaml:1", "/apps)  values ")
	w.previewsUpgrades(truce)
	w.edit("apps/web.yaml", "token: open", "env: staging")
	w.released("web", 2, "1.0.0")
	w.saysOf(truce, 0, "why configmap/web .data.token", "ConfigMap "+w.ns+"/values key values.yaml, token of the values (values) says so.")
}

// previewsUpgrades asks what upgrades of the release web would change, by other values and by another revision of the chart.
func (w *world) previewsUpgrades(truce func(...string) (int, string)) {
	w.t.Helper()
	next := filepath.Join(w.t.TempDir(), "next.yaml")
	if err := os.WriteFile(next, []byte("env: next\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.repo.Branch("next", "")
	w.repo.CommitTo("next", map[string]string{
		"charts/web/Chart.yaml": "{apiVersion: v2, name: web, version: 1.1.0}\n", "charts/web/values.yaml": "env: branch\ntoken: none\n",
	}, "another version")
	release := "release " + w.ns + "/web."
	w.saysOf(truce, 0, "diff helmrelease web", "no differences", release+"v1 stays the newest one, of chart web@1.0.0")
	w.saysOf(truce, 1, "diff hr web --values "+next, `"next"`, `"chart"`, "1 difference", release+"v2 would be made (upgrade), of chart web@1.0.0")
	w.saysOf(truce, 1, "app diff helmrelease/web --revision next", `"branch"`, "1 difference", release+"v2 would be made (upgrade), of chart web@1.1.0")
	w.saysOf(truce, 2, "diff kustomization apps --values "+next, "values are laid over those of a HelmRelease")
	w.saysOf(truce, 0, "build hr web", "env: chart", "token: open")
	w.saysOf(truce, 0, "reconcile helmrelease web")
	w.saysOf(truce, 0, "tree hr web", "ConfigMap/"+w.ns+"/web")
	if got := text(w.get(configmaps, "web"), "data", "env") + " " + w.storedReleases("web"); got != "chart 1:deployed" {
		w.t.Errorf("after the previews it is %s", got)
	}
}
