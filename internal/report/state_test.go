package report_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
)

// TestTheStateThatARunLeaves: by how the newest run ended, of an app whose objects are Synced and Progressing.
func TestTheStateThatARunLeaves(t *testing.T) {
	worst := health.Status{Code: health.Progressing, Message: "Deployment shop/web: waits"}
	for reason, want := range map[report.Reason]struct {
		sync    report.Sync
		ready   report.Readiness
		health  health.Code
		message string
	}{
		"":                      {report.Unknown, report.ReadyUnknown, health.Progressing, "said"},
		report.InProgress:       {report.Unknown, report.ReadyUnknown, health.Progressing, "said"},
		report.AccessDenied:     {report.Unknown, report.NotReady, health.Unknown, "said"},
		report.SpecRefused:      {report.Unknown, report.NotReady, health.Unknown, "said"},
		report.SourceNotReady:   {report.Unknown, report.NotReady, health.Progressing, "said"},
		report.RenderFailed:     {report.Unknown, report.NotReady, health.Progressing, "said"},
		report.ClusterFailed:    {report.Unknown, report.NotReady, health.Progressing, "said"},
		report.AwaitingHealth:   {report.Synced, report.ReadyUnknown, health.Progressing, "said"},
		report.HealthFailed:     {report.Synced, report.NotReady, health.Degraded, "said"},
		report.PruneHeld:        {report.OutOfSync, report.NotReady, health.Progressing, "said"},
		report.ValidationFailed: {report.OutOfSync, report.NotReady, health.Progressing, "said"},
		report.Succeeded:        {report.Synced, report.Ready, health.Progressing, ""},
	} {
		s := report.End{Reason: reason, Message: "said"}.State(report.Synced, worst)
		if s.Sync != want.sync || s.Ready != want.ready || s.Health.Code != want.health || s.Message != want.message || s.Suspended {
			t.Errorf("%q: %+v, want %+v", reason, s, want)
		}
	}
}

// TestTheHealthOfAnAppOfWhichNoObjectIsKnown is Unknown, with why, but for one that has none.
func TestTheHealthOfAnAppOfWhichNoObjectIsKnown(t *testing.T) {
	for _, c := range []struct {
		end  report.End
		want health.Status
	}{
		{report.End{}, health.Status{Code: health.Unknown, Message: "not run yet"}},
		{report.End{Reason: report.InProgress}, health.Status{Code: health.Unknown, Message: "the run has not ended"}},
		{report.End{Reason: report.RenderFailed, Message: "no such file"}, health.Status{Code: health.Unknown, Message: "no such file"}},
		{report.End{Reason: report.HealthFailed, Message: "timeout"}, health.Status{Code: health.Degraded, Message: "timeout"}},
		{report.End{Reason: report.AwaitingHealth, Message: "waiting for Job db/migrate"}, health.Status{Code: health.Progressing, Message: "waiting for Job db/migrate"}},
		{report.End{Reason: report.Succeeded}, health.Status{Code: health.Healthy}},
	} {
		if got := c.end.Health(health.Status{}); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.end, got, c.want)
		}
	}
}

// TestAnAppIsNotHealthyBeforeItsHealthChecks: they may be about objects that are not its own.
func TestAnAppIsNotHealthyBeforeItsHealthChecks(t *testing.T) {
	own := health.Status{Code: health.Healthy}
	for reason, want := range map[report.Reason]health.Code{
		report.AwaitingHealth: health.Progressing, report.HealthFailed: health.Degraded, report.Succeeded: health.Healthy,
	} {
		if got := (report.End{Reason: reason, Message: "said"}).Health(own); got.Code != want || (got.Message == "said") == (want == health.Healthy) {
			t.Errorf("%s: %+v, want %s", reason, got, want)
		}
	}
}

// TestTheStateOfAReport: an app that never ran, one that runs, and one that was suspended after it had failed.
func TestTheStateOfAReport(t *testing.T) {
	web := object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	good := report.Object{ID: web, UID: "1", Applied: true, Judged: true, Health: health.Status{Code: health.Healthy}}
	unknown := report.Object{ID: web, UID: "1", Health: health.Status{Code: health.Healthy}}
	listed := func(extraneous bool) []report.ListedObject { return []report.ListedObject{{Extraneous: extraneous}} }
	for name, c := range map[string]struct {
		r      report.Report
		sync   string
		reason report.Reason
		ready  report.Readiness
	}{
		"never run":                   {report.Report{Reason: report.Succeeded, Objects: []report.Object{good}}, "Unknown", "", report.ReadyUnknown},
		"synced":                      {report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good}}, "Synced", report.Succeeded, report.Ready},
		"an object of whom is unsure": {report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good, unknown}}, "Unknown", report.Succeeded, report.Ready},
		"an object that is to go":     {report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good}, Leaving: listed(false)}, "OutOfSync", report.Succeeded, report.Ready},
		"one that may stay":           {report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good}, Leaving: listed(true)}, "Synced", report.Succeeded, report.Ready},
		"suspended": {
			report.Report{Stage: report.Done, Reason: report.Suspended, Before: report.End{Reason: report.PruneHeld, Message: "held"}, Objects: []report.Object{good}},
			"OutOfSync (suspended)", report.Suspended, report.NotReady,
		},
	} {
		s := c.r.State()
		if s.SyncText() != c.sync || s.Reason != c.reason || s.Ready != c.ready {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := (report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good}}).State(); s.Message != "" || s.Why() != "" {
		t.Errorf("an app that is Synced and Healthy needs no reason: %+v", s)
	}
}
