package reconcile

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/source"
)

// savesOf is an inventory that answers each save with an error, or none.
type savesOf struct {
	inventory.Store
	err error
}

func (s savesOf) Save(context.Context, inventory.Record) error { return s.err }

// TestARevisionIsComparedUntilTheOperationGoesOnWithIt: a run that stops before that is known leaves it to the next one, which would begin with the first hook else.
// Where no operation is under way, the next run brings the revision out.
func TestARevisionIsComparedUntilTheOperationGoesOnWithIt(t *testing.T) {
	for what, c := range map[string]struct {
		ended     bool  // no operation is under way
		comes     bool  // to the stage in which that is decided
		unsaved   error // the operation cannot be recorded
		comparing bool  // the next run compares, too
	}{
		"a run that stops before":           {comparing: true},
		"a run without an operation":        {ended: true},
		"an inventory that is not written":  {comes: true, unsaved: errors.New("the server does not answer"), comparing: true},
		"an operation that goes on with it": {comes: true},
	} {
		key := app.Key{Kind: "Application", Namespace: "argocd", Name: "web"}
		asked := app.App{Key: key, Rollout: app.IfChanged, Policy: policy.Policy{Mode: policy.Enforce}}
		e := NewEngine(Dependencies{Inventory: savesOf{err: c.unsaved}}, nil)
		r := &appRun{engine: e, state: e.state(key), app: asked, asked: asked, artifact: source.Artifact{Revision: "2", Commit: "2"}}
		r.report = report.Report{Revision: "2", Rollout: report.Rollout{Revision: "1", Begun: time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC)}}
		r.inventory = inventory.Record{App: key, Operation: inventory.Operation{Key: "of the revision before"}}
		if c.ended {
			r.report.Rollout.Ended, r.report.Rollout.Reason = r.report.Rollout.Begun, report.Succeeded
		}
		content, _ := r.contents()
		r.state.begun = begunOperation{"of the revision before", content}
		if !r.mayChangeNothing() {
			t.Fatalf("%s: the revision is not compared", what)
		}
		r.onlyCompare()
		if c.comes {
			if err := r.bringOutChange(t.Context()); (err != nil) != (c.unsaved != nil) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if goesOn := r.report.Rollout.Revision == "2"; goesOn != (c.comes && !c.comparing) {
			t.Errorf("%s: the operation goes on: %t", what, goesOn)
		}
		r.report.Rollout.Revision = "1"
		if got := r.mayChangeNothing(); got != c.comparing {
			t.Errorf("%s: the next run compares: %t", what, got)
		}
	}
}
