package reconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/report"
)

// TestAnOperationAboutObjectsThatTheAppDoesNotHaveIsRefused: it would do nothing, and succeed. The rest of the run writes nothing.
func TestAnOperationAboutObjectsThatTheAppDoesNotHaveIsRefused(t *testing.T) {
	named := func(name string) object.ID { return object.ID{Kind: "ConfigMap", Name: name} }
	there := func(name string) object.ID { return object.ID{Kind: "ConfigMap", Namespace: "shop", Name: name} }
	for what, c := range map[string]struct {
		asks    []object.ID
		refused bool
	}{
		"all objects":                     {nil, false},
		"one in Git":                      {[]object.ID{named("web")}, false},
		"one that has left Git":           {[]object.ID{named("former")}, false},
		"one that asks not to be applied": {[]object.ID{named("skipped")}, false},
		"one of two":                      {[]object.ID{named("typo"), named("web")}, false},
		"another":                         {[]object.ID{named("typo")}, true},
		"one in another namespace":        {[]object.ID{{Kind: "ConfigMap", Namespace: "elsewhere", Name: "web"}}, true},
	} {
		key := app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}
		asked := app.App{Key: key, Rollout: app.IfChanged, Policy: policy.Policy{Mode: policy.Enforce}, SyncRequest: app.SyncRequest{Token: "t", Objects: c.asks}}
		e := NewEngine(Dependencies{Now: time.Now}, nil)
		r := &appRun{engine: e, state: e.state(key), app: asked, asked: asked}
		r.beginRollout()
		r.set.Objects = []desired.Object{{ID: there("web")}}
		r.set.Skipped = []desired.Object{{ID: there("skipped")}}
		r.inventory = inventory.Record{App: key, Entries: []inventory.Entry{{ID: there("former")}}}
		if err := r.beginSync(t.Context()); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		o := r.report.Rollout
		if ended := !o.Ended.IsZero(); ended != c.refused || r.purpose == rollingOut == c.refused {
			t.Errorf("%s: ended %t, goes on %t", what, ended, r.purpose == rollingOut)
		}
		if !c.refused {
			continue
		}
		if o.Reason != report.SpecRefused || !strings.Contains(o.Message, c.asks[0].String()) || !o.Next.IsZero() {
			t.Errorf("%s: it ended as %s: %s; next try %s", what, o.Reason, o.Message, o.Next)
		}
		if mode := e.state(key).app.Policy.Mode; mode != policy.Await || r.app.Policy.Mode != policy.Await {
			t.Errorf("%s: the rest of the run has the mode %s", what, mode)
		}
		r.closeRollout()
		if mode := e.state(key).app.Policy.Mode; mode != policy.Enforce {
			t.Errorf("%s: after the run the mode is %s", what, mode)
		}
	}
}
