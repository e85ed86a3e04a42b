package reconcile

import (
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// TestHowAnOperationThatAnEarlierProcessHasLeftEnds: not as succeeded while its hooks run and nothing but the history says that its revision
// was brought out: that may be from an operation before.
func TestHowAnOperationThatAnEarlierProcessHasLeftEnds(t *testing.T) {
	const open, ended = "another operation", "it has ended"
	for what, c := range map[string]struct {
		left     string // the revision of the operation
		compared bool   // in this process
		recorded string
		want     report.Reason
	}{
		"of the revision in the history":        {"1", false, "", report.Succeeded},
		"of that, with hooks that run":          {"1", false, open, ""},
		"of that, with a record that has ended": {"1", false, ended, report.Succeeded},
		"of what was compared":                  {"1", true, open, report.Succeeded},
		"of another revision":                   {"2", false, open, report.OperationAbandoned},
	} {
		key := app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}
		asked := app.App{Key: key, Rollout: app.IfChanged, Policy: policy.Policy{Mode: policy.Enforce}, ReachedRevision: "1"}
		asked.LeftOperation = app.LeftOperation{Revision: c.left, Begun: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)}
		e := NewEngine(Dependencies{}, nil)
		r := &appRun{engine: e, state: e.state(key), app: asked, asked: asked, artifact: source.Artifact{Revision: "1", Commit: "1"}}
		if c.recorded != "" {
			r.inventory.Operation = inventory.Operation{Key: c.recorded, Ended: c.recorded == ended}
		}
		if c.compared {
			r.state.rolledOut = r.rolloutKey()
		}
		o, _ := r.openOperation()
		if got, why := r.whyAbandoned(o, nil); got != c.want {
			t.Errorf("%s: %q (%s), want %q", what, got, why, c.want)
		}
	}
}
