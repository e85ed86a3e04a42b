package appstate_test

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/appstate"
)

// TestTheStateThatARunLeaves: by how the newest run ended, of an app whose objects are Synced and Progressing.
func TestTheStateThatARunLeaves(t *testing.T) {
	worst := health.Status{Code: health.Progressing, Message: "Deployment shop/web: waits"}
	for reason, want := range map[report.Reason]struct {
		sync    report.Sync
		ready   appstate.Readiness
		health  health.Code
		message string
	}{
		"":                      {report.Unknown, appstate.ReadyUnknown, health.Progressing, "said"},
		report.InProgress:       {report.Unknown, appstate.ReadyUnknown, health.Progressing, "said"},
		report.AccessDenied:     {report.Unknown, appstate.NotReady, health.Unknown, "said"},
		report.SpecRefused:      {report.Unknown, appstate.NotReady, health.Unknown, "said"},
		report.SourceNotReady:   {report.Unknown, appstate.NotReady, health.Progressing, "said"},
		report.RenderFailed:     {report.Unknown, appstate.NotReady, health.Progressing, "said"},
		report.ClusterFailed:    {report.Unknown, appstate.NotReady, health.Progressing, "said"},
		report.AwaitingHealth:   {report.Synced, appstate.ReadyUnknown, health.Progressing, "said"},
		report.HealthFailed:     {report.Synced, appstate.NotReady, health.Degraded, "said"},
		report.PruneHeld:        {report.OutOfSync, appstate.NotReady, health.Progressing, "said"},
		report.ValidationFailed: {report.OutOfSync, appstate.NotReady, health.Progressing, "said"},
		report.Succeeded:        {report.Synced, appstate.Ready, health.Progressing, ""},
	} {
		s := appstate.StateAfter(report.End{Reason: reason, Message: "said"}, report.Synced, worst)
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
		{report.End{Reason: report.Succeeded}, health.Status{Code: health.Healthy}},
	} {
		if got := appstate.HealthAfter(c.end, health.Status{}); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.end, got, c.want)
		}
	}
}

func TestTheWorseOfTwoHealthsIsTheFirstOfEqualOnes(t *testing.T) {
	order := []health.Code{"", health.Healthy, health.Suspended, health.Progressing, health.Missing, health.Degraded, health.Unknown}
	for i, a := range order {
		for j, b := range order {
			first, second := health.Status{Code: a, Message: "first"}, health.Status{Code: b, Message: "second"}
			want := first
			if j > i {
				want = second
			}
			if got := appstate.WorseHealth(first, second); got != want {
				t.Errorf("%q and %q: %+v", a, b, got)
			}
		}
	}
	odd := health.Status{Code: "Sick", Message: "first"}
	if got := appstate.WorseHealth(odd, health.Status{Code: health.Unknown}); got != odd {
		t.Errorf("a word that is none of the six stands beside Unknown: %+v", got)
	}
	if got := appstate.WorseHealth(odd, health.Status{Code: health.Degraded}); got != odd {
		t.Errorf("a word that is none of the six stands beside Unknown: %+v", got)
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
		ready  appstate.Readiness
	}{
		"never run":                   {report.Report{Reason: report.Succeeded, Objects: []report.Object{good}}, "Unknown", "", appstate.ReadyUnknown},
		"synced":                      {report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good}}, "Synced", report.Succeeded, appstate.Ready},
		"an object of whom is unsure": {report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good, unknown}}, "Unknown", report.Succeeded, appstate.Ready},
		"an object that is to go":     {report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good}, Leaving: listed(false)}, "OutOfSync", report.Succeeded, appstate.Ready},
		"one that may stay":           {report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good}, Leaving: listed(true)}, "Synced", report.Succeeded, appstate.Ready},
		"suspended": {
			report.Report{Stage: report.Done, Reason: report.Suspended, Before: report.End{Reason: report.PruneHeld, Message: "held"}, Objects: []report.Object{good}},
			"OutOfSync (suspended)", report.Suspended, appstate.NotReady,
		},
	} {
		s := appstate.StateOf(c.r)
		if s.SyncText() != c.sync || s.Reason != c.reason || s.Ready != c.ready {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := appstate.StateOf(report.Report{Stage: report.Done, Reason: report.Succeeded, Objects: []report.Object{good}}); s.Message != "" || s.Why() != "" {
		t.Errorf("an app that is Synced and Healthy needs no reason: %+v", s)
	}
}
