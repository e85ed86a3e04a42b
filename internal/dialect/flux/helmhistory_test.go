package flux_test

import (
	"fmt"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/dialect/reader"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/report"
)

// TestTheHistoryOfAHelmRelease: of releases that came and went before the status was written, and of one that a process found as another has made it.
func TestTheHistoryOfAHelmRelease(t *testing.T) {
	of := func(version, digest string) release.Content {
		return release.Content{Chart: "web", Version: version, Digest: digest, Config: "c" + version}
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
