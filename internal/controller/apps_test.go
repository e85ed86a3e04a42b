package controller

import (
	"testing"

	"github.com/truce-gitops/truce/internal/cluster/live"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// refusing is a front of apps that cannot be run as asked, with the report that the newest status was made of.
type refusing struct {
	*speaker
	reported *report.Report
}

func (f refusing) App(cr object.Object, _ policy.Policy) app.App {
	return app.App{Key: app.Key{Kind: "Kustomization", Name: cr.Name()}, UID: cr.UID(), Generation: cr.Generation(), Problems: []app.Problem{{Reason: "refused"}}}
}

func (f refusing) Status(_ object.Object, r report.Report) map[string]any {
	*f.reported = r
	return f.status()
}

// TestAnAppThatIsCreatedAgainInheritsNothing from the one of its name that was deleted without a finalizer a moment before.
func TestAnAppThatIsCreatedAgainInheritsNothing(t *testing.T) {
	c, s, _ := speaking(t)
	f, key := refusing{s, &report.Report{}}, app.Key{Kind: "Kustomization", Name: "web"}
	event := func(uid string, gone bool) {
		cr := resource()
		cr.Metadata()["uid"] = uid
		c.onAppEvent(f, live.Event{GVK: cr.GVK(), ID: cr.ID(), Object: cr, Gone: gone})
	}
	event("a", false)
	c.reconcileApp(t.Context(), key)
	c.Engine().BeginSyncRequest(key, app.SyncRequest{Token: "of a"})
	if c.writeStatus(t.Context(), key); f.reported.Stage != report.Admit || f.reported.Rollout.Order.Token != "of a" {
		t.Fatalf("the first app reports %q, %v", f.reported.Stage, f.reported.Rollout)
	}
	event("a", true)
	event("b", false)
	if c.writeStatus(t.Context(), key); f.reported.Stage != "" || !f.reported.Running || f.reported.Rollout.Order.Token != "" {
		t.Errorf("before its first run the second app reports what the first did: %q, %v", f.reported.Stage, f.reported.Rollout)
	}
	c.reconcileApp(t.Context(), key)
	if c.writeStatus(t.Context(), key); f.reported.Stage != report.Admit || f.reported.Rollout.Order.Token != "" {
		t.Errorf("the second app reports %q, %v", f.reported.Stage, f.reported.Rollout)
	}
}
