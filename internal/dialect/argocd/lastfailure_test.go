package argocd_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// TestAStatusRemembersWhyTheNewestRunHasFailed so that the journal does not have it again after a restart: with a revision, and not that a source was not fetched.
func TestAStatusRemembersWhyTheNewestRunHasFailed(t *testing.T) {
	failed := report.Report{Revision: "main@sha1:2", Stage: report.Apply, Reason: report.ApplyFailed, Message: "refused"}
	done := report.Report{Revision: "main@sha1:2", Applied: "main@sha1:2", Stage: report.Done, Reason: report.Succeeded, Unfetched: "no route"}
	both := failed
	both.Unfetched = "no route"
	for name, c := range map[string]struct {
		report        report.Report
		revision, why string
	}{
		"failed": {failed, "2", "refused"}, "not fetched": {done, "", ""}, "both": {both, "2", "refused"},
	} {
		cr := object.Object{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "web", "namespace": "argocd"}}
		cr["status"] = argocd.Applications{}.Status(cr, c.report)
		got := argocd.Applications{}.App(cr, policy.Policy{})
		if got.LastFailure != c.why || got.AttemptedRevision != c.revision {
			t.Errorf("%s: %q about %q, want %q about %q", name, got.LastFailure, got.AttemptedRevision, c.why, c.revision)
		}
	}
}
