package flux_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/report"
)

// TestAReleaseThatWasUninstalledIsStalledAfterARestart: no retry is left, nothing is stored, and what the process before has done is only in the status.
func TestAReleaseThatWasUninstalledIsStalledAfterARestart(t *testing.T) {
	cr := stalledRelease()
	status := cr["status"].(map[string]any)
	spec := flux.HelmReleases{}.App(cr, policy.Policy{}).Release
	now := *spec.Newest
	now.Attempts, now.Blocked = spec.Attempts, remedy.RetriesExceeded
	got := flux.HelmReleases{}.Status(cr, report.Report{Generation: 1, Reason: report.ApplyFailed, Message: "it has failed after 2 attempt(s)", Release: &now})
	if diff := cmp.Diff(conditionsOf(status), conditionsOf(got)); diff != "" {
		t.Errorf("the conditions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(status["history"].([]any)[0].(map[string]any)["action"], got["history"].([]any)[0].(map[string]any)["action"]); diff != "" {
		t.Errorf("the action of the history (-want +got):\n%s", diff)
	}
}

// stalledRelease is a HelmRelease that was uninstalled after its last try.
func stalledRelease() object.Object {
	const at = "2026-01-01T00:00:00Z"
	condition := func(kind, status, reason, message string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at, "observedGeneration": int64(1)}
	}
	const uninstalled = "Helm uninstall remediation for release apps/web.v1 with chart web@1.0.0 succeeded"
	status := map[string]any{
		"observedGeneration": int64(1), "lastAttemptedGeneration": int64(1), "lastAttemptedRevision": "1.0.0", "lastAttemptedConfigDigest": "sha256:bb",
		"lastAttemptedReleaseAction": "install", "failures": int64(2), "installFailures": int64(2), "storageNamespace": "apps",
		"conditions": []any{
			condition("Ready", "False", "UninstallSucceeded", uninstalled),
			condition("Released", "False", "InstallFailed", "Helm install failed for release apps/web with chart web@1.0.0: timed out"),
			condition("Remediated", "True", "UninstallSucceeded", uninstalled),
			condition("Stalled", "True", "RetriesExceeded", "Failed to install after 2 attempt(s)"),
		},
		"history": []any{map[string]any{
			"name": "web", "namespace": "apps", "version": int64(1), "status": "uninstalled", "action": "uninstall-remediation", "digest": "sha256:aa",
			"chartName": "web", "chartVersion": "1.0.0", "configDigest": "sha256:bb", "firstDeployed": at, "lastDeployed": at, "deleted": nil,
		}},
		"inventory": map[string]any{"entries": []any{}},
	}
	return object.Object{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "status": status,
		"metadata": map[string]any{"name": "web", "namespace": "apps", "generation": int64(1)},
		"spec":     map[string]any{"interval": "1h", "chart": map[string]any{"spec": map[string]any{"chart": "web", "sourceRef": map[string]any{"kind": "GitRepository", "name": "charts"}}}},
	}
}

// TestARunThatDoesNotComeToItsReleaseIsNoAttempt: the spec is another one, and a process that starts later tries it.
func TestARunThatDoesNotComeToItsReleaseIsNoAttempt(t *testing.T) {
	cr := stalledRelease()
	cr["metadata"].(map[string]any)["generation"] = int64(2)
	for _, reason := range []report.Reason{report.SourceNotReady, report.ValuesFailed, report.SpecRefused} {
		got := flux.HelmReleases{}.Status(cr, report.Report{Generation: 2, Reason: reason, Message: "no"})
		if got["lastAttemptedGeneration"] != int64(1) || got["observedGeneration"] != int64(2) {
			t.Errorf("%s: attempted %v, observed %v", reason, got["lastAttemptedGeneration"], got["observedGeneration"])
		}
	}
	now := *flux.HelmReleases{}.App(cr, policy.Policy{}).Release.Newest
	now.Attempts.Generation = 2
	if got := (flux.HelmReleases{}).Status(cr, report.Report{Generation: 2, Reason: report.ApplyFailed, Message: "no", Release: &now}); got["lastAttemptedGeneration"] != int64(2) {
		t.Errorf("an attempt: %v", got["lastAttemptedGeneration"])
	}
}

// TestARunThatDoesNotComeToItsReleaseLeavesWhatActionsHaveLeft: as in helm-controller, Ready alone has another reason.
func TestARunThatDoesNotComeToItsReleaseLeavesWhatActionsHaveLeft(t *testing.T) {
	cr := stalledRelease()
	status := cr["status"].(map[string]any)
	status["conditions"] = append(status["conditions"].([]any), map[string]any{
		"type": "TestSuccess", "status": "False", "reason": "TestFailed", "message": "no", "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": int64(1),
	})
	before := conditionsOf(status)
	for _, reason := range []report.Reason{report.SourceNotReady, report.ValuesFailed, report.DependencyNotReady, report.SpecRefused, report.AccessDenied} {
		got := conditionsOf(flux.HelmReleases{}.Status(cr, report.Report{Generation: 1, Reason: reason, Message: "cannot"}))
		for _, kind := range []string{"Released", "Remediated", "TestSuccess"} {
			if got[kind] != before[kind] {
				t.Errorf("%s: %s %q, want %q", reason, kind, got[kind], before[kind])
			}
		}
	}
}

// conditionsOf are the reasons and messages of a status, by the type of the condition.
func conditionsOf(status map[string]any) map[string]string {
	out := map[string]string{}
	list, _ := status["conditions"].([]any)
	for _, e := range list {
		c, _ := e.(map[string]any)
		out[c["type"].(string)] = c["status"].(string) + " " + c["reason"].(string) + ": " + c["message"].(string)
	}
	return out
}
