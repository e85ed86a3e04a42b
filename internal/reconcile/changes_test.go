package reconcile

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/source"
)

func TestChangesAreThoseOfOneRollout(t *testing.T) {
	state := &appState{}
	run := func(revision, order string, p purpose) *appRun {
		a := app.App{Generation: 1, SyncRequest: app.SyncRequest{Token: order}}
		return &appRun{state: state, app: a, asked: a, artifact: source.Artifact{Revision: revision}, purpose: p}
	}
	for _, c := range []struct {
		of   string
		run  *appRun
		kept bool
	}{
		{"the first revision", run("1", "", rollingOut), false},
		{"another try", run("1", "", rollingOut), true},
		{"a look", run("1", "", betweenRollouts), true},
		{"an order of the same revision", run("1", "one", rollingOut), false},
		{"a look after the order", run("1", "", betweenRollouts), true},
		{"another order", run("1", "two", rollingOut), false},
		{"the next revision", run("2", "", rollingOut), false},
	} {
		state.changes.created = object.Tally{Total: 1}
		if c.run.beginChanges(); (state.changes.created.Total == 1) != c.kept {
			t.Errorf("%s: what was changed before is kept: %t", c.of, !c.kept)
		}
	}
}
