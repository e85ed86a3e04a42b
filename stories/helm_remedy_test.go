package stories

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report/journal"
)

// chartWithRemedies has a hook and a test that end as the values say.
const chartWithRemedies = `
-- charts/web/Chart.yaml --
apiVersion: v2
name: web
version: 1.0.0
-- charts/web/values.yaml --
upgrade: "0"
test: "0"
-- charts/web/templates/web.yaml --
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  version: {{ .Chart.Version }}
-- charts/web/templates/hooks.yaml --
apiVersion: batch/v1
kind: Job
metadata:
  name: after
  annotations: {helm.sh/hook: post-upgrade}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: {{ .Values.upgrade | quote }}}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: check
  annotations: {helm.sh/hook: test}
spec:
  backoffLimit: 0
  template:
    metadata: {annotations: {sandbox.truce.dev/exit-code: {{ .Values.test | quote }}}}
    spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}
`

// helmReason waits for a condition of the HelmRelease web.
func (w *world) helmReason(kind, status, reason string, parts ...string) {
	w.t.Helper()
	w.helmCondition("web", kind, func(c map[string]any) bool {
		message, _ := c["message"].(string)
		for _, p := range parts {
			if !strings.Contains(message, p) {
				return false
			}
		}
		return c["status"] == status && c["reason"] == reason
	})
}

func TestAFailedUpgradeIsRolledBack(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithRemedies)
	w.release("web", "  upgrade: {cleanupOnFail: true, remediation: {retries: 1}}\n")
	w.released("web", 1, "1.0.0")
	w.repo.Commit(map[string]string{
		"charts/web/values.yaml": "upgrade: \"3\"\ntest: \"0\"\n", "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.1.0\n",
		"charts/web/templates/more.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}\n",
	}, "fails")
	w.helmReason("Stalled", "True", "RetriesExceeded", "2 attempt(s)")
	w.helmReason("Remediated", "True", "RollbackSucceeded", "web@1.0.0")
	w.helmReason("Released", "False", "UpgradeFailed", "post-upgrade")
	w.helmReason("Ready", "False", "RollbackSucceeded")
	if got := w.storedReleases("web"); got != "1:superseded 2:failed 3:superseded 4:failed 5:deployed" {
		t.Errorf("stored: %s", got)
	}
	if got := w.kubectl("get", "configmap", "web", "-o", "jsonpath={.data.version}"); got != "1.0.0" {
		t.Errorf("the object is of version %s", got)
	}
	if w.isThere(configmaps, "more") {
		t.Error("what the failed upgrade has made is there")
	}
	w.repo.Commit(map[string]string{"charts/web/values.yaml": "upgrade: \"0\"\ntest: \"0\"\n", "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.0\n"}, "works")
	w.helmReason("Ready", "True", "UpgradeSucceeded", "web@1.2.0")
	const cleaned = "pruned more the upgrade that had made it has failed"
	want := []string{
		"released install release NAMESPACE/web.v1 with chart web@1.0.0", cleaned, "released rollback release NAMESPACE/web.v3 with chart web@1.0.0",
		cleaned, "released rollback release NAMESPACE/web.v5 with chart web@1.0.0", "released upgrade release NAMESPACE/web.v6 with chart web@1.2.0",
	}
	if diff := cmp.Diff(want, w.happened("web", journal.Released, journal.Pruned)); diff != "" {
		t.Errorf("the journal (-want +got):\n%s", diff)
	}
}

func TestAFailedInstallIsUninstalled(t *testing.T) {
	w := offWorld(t, strings.ReplaceAll(strings.ReplaceAll(chartWithRemedies, "helm.sh/hook: post-upgrade", "helm.sh/hook: post-install"), `upgrade: "0"`, `upgrade: "3"`))
	stop := w.start(policy.Policy{})
	w.release("web", "  install: {remediation: {retries: 1, remediateLastFailure: true}}\n")
	w.helmReason("Stalled", "True", "RetriesExceeded", "Failed to install after 2 attempt(s)")
	w.helmReason("Remediated", "True", "UninstallSucceeded")
	if w.isThere(configmaps, "web") {
		t.Error("the object is there")
	}
	before := w.helmConditions("web")
	stop()
	w.start(policy.Policy{})
	t.Cleanup(w.removeApps)
	w.looksAgain("web", "after the start")
	if diff := cmp.Diff(before, w.helmConditions("web")); diff != "" {
		t.Errorf("the conditions after a restart (-want +got):\n%s", diff)
	}
	if got := w.storedReleases("web"); got != "" {
		t.Errorf("stored: %s", got)
	}
	if got := w.eventsOf("UpgradeFailed", "web"); len(got) > 0 {
		t.Errorf("Events of an upgrade: %s", got)
	}
}

// helmConditions are the conditions of a HelmRelease, each with its reason and message.
func (w *world) helmConditions(name string) []string {
	w.t.Helper()
	var out []string
	for _, c := range entries(w.get(helmReleases, name), "status", "conditions") {
		out = append(out, fmt.Sprint(c["type"], " ", c["status"], " ", c["reason"], ": ", c["message"]))
	}
	return out
}

// TestARequestForAnotherReleaseDuringARemedyIsAnsweredBehindIt: no retry is left, and flux reconcile helmrelease --force asks for one while the rollback waits
// for its hook.
func TestARequestForAnotherReleaseDuringARemedyIsAnsweredBehindIt(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithRemedies+`
-- charts/web/templates/back.yaml --
apiVersion: batch/v1
kind: Job
metadata: {name: back, annotations: {helm.sh/hook: post-rollback}}
spec:
  managedBy: stories.truce.dev/hand
  template: {spec: {restartPolicy: Never, containers: [{name: c, image: "registry.example/c:1"}]}}
`)
	w.release("web", "  timeout: 10m\n  upgrade: {remediation: {remediateLastFailure: true}}\n")
	w.released("web", 1, "1.0.0")
	w.repo.Commit(map[string]string{"charts/web/values.yaml": "upgrade: \"3\"\ntest: \"0\"\n", "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.1.0\n"}, "fails")
	first := w.exists(jobs, "back")
	w.patch(helmReleases, "web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		"reconcile.fluxcd.io/requestedAt": "force", "reconcile.fluxcd.io/forceAt": "force",
	}}}, "kubectl")
	w.await(w.Watch(t, helmReleases, w.ns, "web"), func(o *unstructured.Unstructured) bool { return text(o, "status", "lastHandledReconcileAt") == "force" })
	if got := text(w.get(helmReleases, "web"), "status", "lastHandledForceAt"); got != "" {
		t.Errorf("the request is answered while the rollback is under way: %s", got)
	}
	w.endJob("back", "Complete")
	w.await(w.Watch(t, jobs, w.ns, "back"), func(o *unstructured.Unstructured) bool {
		return o.GetUID() != first.GetUID() && o.GetDeletionTimestamp() == nil
	})
	w.endJob("back", "Complete")
	const want = "1:superseded 2:failed 3:superseded 4:failed 5:deployed"
	w.until("it is tried once more, and remedied", func() bool { return w.storedReleases("web") == want })
	w.stalled("web")
	w.looksAgain("web", "look")
	if got, handled := w.storedReleases("web"), text(w.get(helmReleases, "web"), "status", "lastHandledForceAt"); got != want || handled != "force" {
		t.Errorf("one request has made the releases %s, and %q is answered", got, handled)
	}
}

// TestAReleaseIsInstalledAgainAfterItsLastFailureWasUninstalled: no retry is left for the upgrade, and the install is none.
func TestAReleaseIsInstalledAgainAfterItsLastFailureWasUninstalled(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithRemedies)
	w.release("web", "  upgrade: {remediation: {retries: 0, remediateLastFailure: true, strategy: uninstall}}\n")
	w.released("web", 1, "1.0.0")
	w.repo.Commit(map[string]string{"charts/web/values.yaml": "upgrade: \"3\"\ntest: \"0\"\n", "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.1.0\n"}, "fails")
	w.helmReason("Ready", "True", "InstallSucceeded", "web@1.1.0")
	if got := w.storedReleases("web"); got != "1:deployed" {
		t.Errorf("stored: %s", got)
	}
}

func TestTestsOfARelease(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithRemedies)
	w.release("web", "  test: {enable: true}\n  upgrade: {remediation: {retries: 0, remediateLastFailure: true}}\n")
	w.helmReason("TestSuccess", "True", "TestSucceeded", "1 test hook completed")
	w.repo.Commit(map[string]string{"charts/web/values.yaml": "upgrade: \"0\"\ntest: \"3\"\n", "charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.1.0\n"}, "fails")
	w.helmReason("TestSuccess", "False", "TestFailed", "exit code 3")
	w.helmReason("Remediated", "True", "RollbackSucceeded")
}

// TestADeletionEndsAfterAHookThatComesLastHasFailed: Helm forgets the release then, and Flux lets the HelmRelease go with the next try.
func TestADeletionEndsAfterAHookThatComesLastHasFailed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, strings.ReplaceAll(strings.ReplaceAll(chartWithRemedies, "helm.sh/hook: post-upgrade", "helm.sh/hook: post-delete"), `upgrade: "0"`, `upgrade: "3"`))
	w.release("web", "")
	w.released("web", 1, "1.0.0")
	gone := w.Watch(t, helmReleases, w.ns, "web")
	w.kubectl("delete", "helmrelease.helm.toolkit.fluxcd.io/web", "--wait=false")
	w.helmReason("Released", "False", "UninstallFailed", "after")
	gone.AwaitDeleted(w.ctx)
	if text := w.kubectl("get", "secrets", "-l", "owner=helm", "-o", "name"); text != "" {
		t.Errorf("a release is stored: %s", text)
	}
	if w.isThere(configmaps, "web") {
		t.Error("the object is there")
	}
}
