package controller

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/dialect"
	"github.com/truce-gitops/truce/internal/dialect/argocd"
	"github.com/truce-gitops/truce/internal/dialect/flux"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/report/runs"
	"golang.org/x/time/rate"
)

// TestOnlyAStatusThatSaysNothingElseWaitsBehindARevision gives 1,000 apps of one repository a new revision.
func TestOnlyAStatusThatSaysNothingElseWaitsBehindARevision(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for kind, f := range map[string]dialect.Apps{"Kustomization": flux.Kustomizations{}, "Application": argocd.Applications{}} {
		first := report.Report{
			Generation: 3, Revision: "main@sha1:1111111111111111111111111111111111111111", Applied: "main@sha1:1111111111111111111111111111111111111111",
			Stage: report.Done, Reason: report.Succeeded, At: at, Seen: at,
			Objects: []report.Object{{
				ID: object.ID{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Version: "v1", UID: "u", Applied: true, Judged: true,
				Health: health.Status{Code: health.Healthy},
			}},
		}
		rolled := func(r report.Report) report.Rollout {
			return report.Rollout{Revision: r.Revision, Begun: r.At, Ended: r.At.Add(time.Second), Reason: report.Succeeded}
		}
		first.Rollout, first.Runs = rolled(first), runs.Runs{}.Add("sha256:1", at, time.Second)
		next := first
		next.Revision, next.Applied, next.Unchanged = "main@sha1:2222222222222222222222222222222222222222", "main@sha1:2222222222222222222222222222222222222222", true
		next.At, next.Seen = at.Add(time.Hour), at.Add(time.Hour)
		next.Rollout = rolled(next)
		asked, changed, broken, kept := next, next, next, next
		asked.Request = "now"
		changed.Unchanged = false
		kept.Runs = next.Runs.Add("sha256:2", next.Seen, time.Second) // what holds a Secret's values counts by its revision
		broken.Objects = []report.Object{first.Objects[0]}
		broken.Objects[0].Health = health.Status{Code: health.Degraded, Message: "CrashLoopBackOff"}
		for name, c := range map[string]struct {
			report report.Report
			waits  bool
		}{
			"a revision":                 {next, true},
			"a revision with a Secret":   {kept, true},
			"an answer":                  {asked, false},
			"a change of its objects":    {changed, false},
			"a Deployment that degrades": {broken, false},
			"no revision":                {first, false},
		} {
			key := app.Key{Kind: kind, Name: "web"}
			e := &appEntry{front: f, cr: resource(), app: app.App{Key: key}}
			e.cr["status"] = f.Status(e.cr, first) // the watch has brought what was written
			if name == "an answer" {
				// That of an Application takes an annotation off, and is no status.
				e.cr.Metadata()["annotations"] = map[string]any{"argocd.argoproj.io/refresh": asked.Request}
			}
			e.wrote, e.said = digestOf(f.Status(e.cr, first)), writtenRevisionOf(first)
			ctl := &Controller{appSet: map[app.Key]*appEntry{key: e}, backgroundPace: rate.NewLimiter(backgroundRate, 1)}
			ctl.backgroundPace.AllowN(c.report.Seen, 1)
			if wait := ctl.background(*e, c.report); (wait > 0) != c.waits {
				t.Errorf("%s: %s waits %s", kind, name, wait)
			}
			if !c.waits {
				continue
			}
			c.report.Seen = e.slot
			if wait := ctl.background(*e, c.report); wait > 0 {
				t.Errorf("%s: %s waits another %s after its turn has come", kind, name, wait)
			}
		}
	}
}
