package flux_test

import (
	"fmt"
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/record"
	"github.com/truce-gitops/truce/internal/model/release/remedy"
	"github.com/truce-gitops/truce/internal/report"
)

// TestTheHistoryOfAHelmRelease: of releases that came and went before the status was written, and of one that a process found as another has made it.
func TestTheHistoryOfAHelmRelease(t *testing.T) {
	of := func(version, digest string) record.Content {
		return record.Content{Chart: "web", Version: version, Digest: digest, Config: "c" + version}
	}
	entry := func(revision int, version, status, action, digest string) map[string]any {
		return map[string]any{
			"name": "web", "namespace": "shop", "version": int64(revision), "status": status, "action": action, "chartName": "web", "chartVersion": version,
			"configDigest": "c" + version, "digest": digest,
		}
	}
	for name, c := range map[string]struct {
		had  []any
		now  release.Installed
		want []string
	}{
		"what was not written is listed": {
			[]any{entry(1, "1.0.0", "deployed", "install", "a")},
			release.Installed{Revision: 3, Status: hook.FailedRelease, Content: of("1.2.0", "c"), Action: hook.Upgrade, Past: map[int]release.Past{
				1: {Status: hook.Superseded},
				2: {Status: hook.FailedRelease, Content: of("1.1.0", "b"), Action: hook.Rollback},
			}},
			[]string{"3 failed 1.2.0 c1.2.0 upgrade", "2 failed 1.1.0 c1.1.0 rollback", "1 superseded 1.0.0 c1.0.0 install"},
		},
		"what is not known is not made up": {
			nil,
			release.Installed{Revision: 2, Status: hook.Deployed, Content: of("1.1.0", "b"), Action: hook.Upgrade, Past: map[int]release.Past{1: {Status: hook.Superseded}}},
			[]string{"2 deployed 1.1.0 c1.1.0 upgrade"},
		},
		"the chart that a later run reads is not the release's": {
			[]any{entry(2, "1.1.0", "deployed", "rollback", "b")},
			release.Installed{Revision: 2, Status: hook.Deployed, Content: of("1.2.0", "b")},
			[]string{"2 deployed 1.1.0 c1.1.0 rollback"},
		},
		"another release of the same number": {
			[]any{entry(2, "1.1.0", "deployed", "rollback", "b")},
			release.Installed{Revision: 2, Status: hook.Deployed, Content: of("1.2.0", "x"), Action: hook.Upgrade},
			[]string{"2 deployed 1.2.0 c1.2.0 upgrade"},
		},
	} {
		c.now.Name, c.now.Namespace, c.now.Storage = "web", "shop", "shop"
		cr := object.Object{
			"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"status": map[string]any{"history": c.had},
		}
		status := flux.HelmReleases{}.Status(cr, report.Report{Reason: report.Succeeded, Release: &c.now})
		var got helmv2.HelmReleaseStatus
		reader.DecodeStatus(object.Object{"status": status}, &got)
		var lines []string
		for _, s := range got.History {
			lines = append(lines, fmt.Sprintf("%d %s %s %s %s", s.Version, s.Status, s.ChartVersion, s.ConfigDigest, s.Action))
		}
		if diff := cmp.Diff(c.want, lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAnObjectOfADeployedReleaseIsMissing: what this process knows of the release is what the one before it has stored.
func TestAnObjectOfADeployedReleaseIsMissing(t *testing.T) {
	gone := report.Object{ID: object.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Health: health.Status{Code: health.Missing}}
	said := map[string]any{"type": "Ready", "status": "True", "reason": "InstallSucceeded", "message": "Helm install succeeded"}
	released := map[string]any{"type": "Released", "status": "True", "reason": "InstallSucceeded", "message": "Helm install succeeded"}
	for name, now := range map[string]release.Installed{
		"of this process":    {Status: hook.Deployed, Action: hook.Install, Ended: remedy.EndedWell},
		"of another process": {Status: hook.Deployed},
	} {
		now.Name, now.Namespace, now.Storage, now.Revision = "web", "shop", "shop", 1
		cr := object.Object{
			"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"name": "web", "namespace": "shop"},
			"status": map[string]any{"conditions": []any{said, released}},
		}
		status := flux.HelmReleases{}.Status(cr, report.Report{Reason: report.Succeeded, Release: &now, Objects: []report.Object{gone}})
		var got helmv2.HelmReleaseStatus
		reader.DecodeStatus(object.Object{"status": status}, &got)
		var lines []string
		for _, c := range got.Conditions {
			lines = append(lines, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
		}
		want := []string{
			"Ready=False HealthCheckFailed: ConfigMap shop/a is missing", "Reconciling=True ProgressingWithRetry: ConfigMap shop/a is missing",
			"Released=True InstallSucceeded: Helm install succeeded",
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAReleaseThatCannotBeUninstalled(t *testing.T) {
	cr := object.Object{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"},
		"status":   map[string]any{"history": []any{map[string]any{"name": "web", "namespace": "shop", "version": int64(3), "chartName": "web", "chartVersion": "1.2.0"}}},
	}
	status := flux.HelmReleases{}.Status(cr, report.Report{Reason: report.PruneFailed, Message: "failed pre-delete: hook failed"})
	var got helmv2.HelmReleaseStatus
	reader.DecodeStatus(object.Object{"status": status}, &got)
	for _, c := range got.Conditions {
		want := "Helm uninstall failed for release shop/web.v3 with chart web@1.2.0: failed pre-delete: hook failed"
		if (c.Type == "Ready" || c.Type == "Released") && (c.Status != "False" || c.Reason != "UninstallFailed" || c.Message != want) {
			t.Errorf("%s=%s %s: %s, want %s", c.Type, c.Status, c.Reason, c.Message, want)
		}
	}
	if len(got.Conditions) < 2 {
		t.Errorf("conditions: %v", got.Conditions)
	}
}

// TestTheHistoryOfAHelmReleaseIsShown: what was applied whole, the oldest first. Nothing goes back to it but Git.
func TestTheHistoryOfAHelmReleaseIsShown(t *testing.T) {
	entry := func(version int64, chart, status string) any {
		return map[string]any{"name": "web", "namespace": "shop", "version": version, "status": status, "chartName": "web", "chartVersion": chart, "lastDeployed": "2026-11-28T12:00:00Z"}
	}
	cr := object.Object{
		"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease", "metadata": map[string]any{"name": "web", "namespace": "shop"},
		"spec":   map[string]any{"interval": "5m"},
		"status": map[string]any{"history": []any{entry(3, "1.2.0", "deployed"), entry(2, "1.1.0", "failed"), entry(1, "1.0.0", "superseded")}},
	}
	var got []string
	for _, e := range (flux.HelmCommands{}).Summarize(cr).History {
		got = append(got, fmt.Sprint(e.ID, " ", e.Revision, " ", e.At.UTC().Format("15:04")))
	}
	if diff := cmp.Diff([]string{"1 web@1.0.0 12:00", "3 web@1.2.0 12:00"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	pin := "1.0.0"
	if _, err := (flux.HelmCommands{}).Edit(dialect.Resources{App: cr}, dialect.Change{Pin: &pin}); err == nil || !strings.Contains(err.Error(), "revert its values") {
		t.Errorf("a rollback: %v", err)
	}
}
