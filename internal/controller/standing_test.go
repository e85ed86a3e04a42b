package controller

import (
	"fmt"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/release"
	"github.com/truce-gitops/truce/internal/model/release/hook"
	"github.com/truce-gitops/truce/internal/model/release/record"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/notify"
)

// TestWhatARunsNewsIsAbout: of a Helm release which one, why and what to do; a success of any name ends a failure.
func TestWhatARunsNewsIsAbout(t *testing.T) {
	failed := notify.Event{Severity: notify.Error, Reason: "RollbackSucceeded", Text: "rolled back"}
	made := notify.Event{Severity: notify.Info, Reason: "UpgradeSucceeded", Text: "upgraded"}
	of := &release.Installed{Name: "web", Namespace: "shop", Revision: 3, Content: record.Content{Chart: "web", Version: "1.2.3"}}
	bad := *of
	bad.Failure, bad.Cause, bad.RemedyCause = hook.Upgrade, "timed out", "no target"
	for _, c := range []struct {
		news notify.Event
		r    report.Report
		want string
	}{
		{made, report.Report{Reason: report.Succeeded, Release: of}, "failure ends map[object:release shop/web.v3 of chart web@1.2.3]"},
		{failed, report.Report{Reason: report.Remediated, Release: &bad}, "failure opens map[because:timed out; the remedy failed: no target next:commit a fix; it is tried again until the attempts are used up object:release shop/web.v3 of chart web@1.2.3]"},
		{notify.Event{Severity: notify.Error, Reason: "PruneHeld"}, report.Report{Reason: report.PruneHeld, App: app.Key{Namespace: "shop", Name: "web"}}, "prune opens map[next:look at what would be deleted, and approve it: truce app approve-prune web -n shop]"},
		{notify.Event{Severity: notify.Error, Reason: "BuildFailed"}, report.Report{Reason: report.RenderFailed}, "failure opens map[]"},
		{notify.Event{Severity: notify.Error, Reason: "HealthCheckFailed"}, report.Report{Reason: report.Succeeded}, "health opens map[]"},
		{notify.Event{Severity: notify.Error, Reason: "TestFailed"}, report.Report{Reason: report.HealthFailed, Release: of}, "failure opens map[object:release shop/web.v3 of chart web@1.2.3]"},
		{notify.Event{Severity: notify.Error, Reason: "ComparisonError"}, report.Report{Reason: report.RenderFailed}, "failure opens map[]"},
		{notify.Event{Severity: notify.Error, Reason: "ComparisonError"}, report.Report{Reason: report.HealthFailed, Unfetched: "no route"}, "failure opens map[]"},
		{notify.Event{Severity: notify.Info, Reason: "ComparisonSucceeded"}, report.Report{Reason: report.Succeeded}, "failure ends map[]"},
		{notify.Event{Severity: notify.Info, Reason: "OperationCompleted"}, report.Report{Reason: report.Succeeded}, "failure ends map[]"},
		{notify.Event{Severity: notify.Info, Reason: "OperationCompleted"}, report.Report{Reason: report.Succeeded, Unfetched: "no route"}, "  map[]"},
		{notify.Event{Severity: notify.Info, Reason: "ReconciliationSucceeded"}, report.Report{Reason: report.Succeeded}, "failure ends map[]"},
	} {
		m := matterOfNews(c.news, c.r)
		if got := fmt.Sprint(m.Kind, " ", m.Phase, " ", evidenceOfNews(c.news, c.r)); got != c.want {
			t.Errorf("%s: got %s, want %s", c.news.Reason, got, c.want)
		}
	}
}
