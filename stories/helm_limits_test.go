package stories

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
)

// chartWithBadHooks has a hook at each event that the values name, which the API server refuses.
const chartWithBadHooks = `
-- charts/web/Chart.yaml --
{apiVersion: v2, name: web, version: 1.0.0}
-- charts/web/values.yaml --
bad: []
-- charts/web/templates/web.yaml --
{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}"}}
-- charts/web/templates/hooks.yaml --
{{- range .Values.bad }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ $.Release.Name }}-{{ . }}", annotations: {helm.sh/hook: "{{ . }}"}}
immutable: never
{{- end }}
`

// storedRelease records the Secret of a stored release.
func (w *world) storedRelease(name string) *kubetest.Recorder {
	w.t.Helper()
	return w.Watch(w.t, schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, w.ns, "sh.helm.release.v1."+name)
}

// hasHad counts how often a stored release came to have a status.
func hasHad(r *kubetest.Recorder, status string) (n int) {
	before := ""
	for _, v := range r.Values() {
		now := v.Object.GetLabels()["status"]
		if now == status && before != status {
			n++
		}
		before = now
	}
	return n
}

// remedyFails waits until the status of a HelmRelease says that a remedy has failed.
func (w *world) remedyFails(name, reason string) {
	w.t.Helper()
	w.helmCondition(name, "Remediated", func(c map[string]any) bool { return c["status"] == "False" && c["reason"] == reason })
}

// TestARemedyThatFailsIsRepeatedAfterAPause: a request has it repeated once, and nothing else does within the interval of an hour.
func TestARemedyThatFailsIsRepeatedAfterAPause(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithBadHooks)
	uninstalled := w.storedRelease("stuck.v1")
	w.release("stuck", "  values: {bad: [post-install, pre-delete]}\n  install: {remediation: {retries: 1}}\n")
	w.remedyFails("stuck", "UninstallFailed")
	w.looksAgain("stuck", "once")
	w.looksAgain("stuck", "twice")
	if n := hasHad(uninstalled, "uninstalling"); n != 3 {
		t.Errorf("the release was uninstalled %d times, want once for the failure and once for each request", n)
	}
	w.patch(helmReleases, "stuck", map[string]any{"spec": map[string]any{"uninstall": map[string]any{"disableHooks": true}}}, "kubectl")

	w.release("back", "  values: {bad: [post-rollback]}\n  upgrade: {remediation: {retries: -1}}\n  maxHistory: 0\n")
	w.released("back", 1, "1.0.0")
	w.wants("back", map[string]any{"bad": []any{"post-rollback", "post-upgrade"}})
	w.remedyFails("back", "RollbackFailed")
	w.looksAgain("back", "once")
	if got := w.storedReleases("back"); got != "1:deployed 2:failed 3:failed 4:failed 5:failed" {
		t.Errorf("stored: %s", got)
	}

	w.release("last", "  values: {bad: [post-rollback]}\n  upgrade: {remediation: {remediateLastFailure: true}}\n")
	w.released("last", 1, "1.0.0")
	w.wants("last", map[string]any{"bad": []any{"post-rollback", "post-upgrade"}})
	w.stalled("last") // at once: no try is left
	if got := w.storedReleases("last"); got != "1:deployed 2:failed 3:failed" {
		t.Errorf("stored: %s", got)
	}
}

// TestAnUninstallEndsAfterAHookThatComesLastHasFailed: its objects are gone by then, and Helm forgets the release; what is asked for is installed again.
func TestAnUninstallEndsAfterAHookThatComesLastHasFailed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithBadHooks)
	w.release("web", "  values: {bad: [post-install, post-delete]}\n  install: {remediation: {retries: 1, remediateLastFailure: true}}\n")
	w.helmReason("Stalled", "True", "RetriesExceeded", "Failed to install after 2 attempt(s)")
	w.helmReason("Remediated", "False", "UninstallFailed", "web-post-delete")
	if got := w.storedReleases("web"); got != "" || w.isThere(configmaps, "web") {
		t.Errorf("stored: %s, or the object is there", got)
	}
}

// TestNoMoreReleasesAreStoredThanAskedFor: of those that fail too, and the one that is deployed stays.
func TestNoMoreReleasesAreStoredThanAskedFor(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithBadHooks)
	w.release("web", "  maxHistory: 2\n  upgrade: {strategy: {name: RetryOnFailure, retryInterval: 1s}}\n")
	w.released("web", 1, "1.0.0")
	w.wants("web", map[string]any{"bad": []any{"post-upgrade"}})
	w.await(w.storedRelease("web.v5"), func(o *unstructured.Unstructured) bool { return o.GetLabels()["status"] == "failed" })
	if got := w.storedReleases("web"); !strings.HasPrefix(got, "1:deployed ") || strings.Count(got, ":") != 2 {
		t.Errorf("stored: %s", got)
	}
}

// TestAnUninstalledReleaseLeavesNoneDeployed: with its history kept, also where the newest release had failed.
func TestAnUninstalledReleaseLeavesNoneDeployed(t *testing.T) {
	w := newWorld(t, policy.Policy{}, chartWithBadHooks)
	w.release("web", "  uninstall: {keepHistory: true}\n")
	w.released("web", 1, "1.0.0")
	w.wants("web", map[string]any{"bad": []any{"post-upgrade"}})
	w.stalled("web")
	w.delete(helmReleases, w.ns, "web")
	w.until("the HelmRelease is gone", func() bool { return w.get(helmReleases, "web") == nil })
	if got := w.storedReleases("web"); got != "1:superseded 2:uninstalled" {
		t.Errorf("stored: %s", got)
	}
}
