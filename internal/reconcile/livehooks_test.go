package reconcile

import (
	"slices"
	"testing"

	"github.com/truce-gitops/truce/internal/apply/hooks"
	"github.com/truce-gitops/truce/internal/apply/inventory"
	"github.com/truce-gitops/truce/internal/apply/tenancy"
	"github.com/truce-gitops/truce/internal/model/optout"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/report"
)

// TestWhatAHookHasLeftIsForgottenWhenItIsGone: with generateName each operation leaves others, and each run would look for all of them.
func TestWhatAHookHasLeftIsForgottenWhenItIsGone(t *testing.T) {
	s, e := newShelf()
	a := pruned()
	a.Aside = optout.Moments{{}}
	a.Policy.Mode = policy.Enforce
	there := s.putHook("there", map[string]any{hooks.OwnerMark: a.Key.String()}, hooks.OwnerMark)
	e.Version = servesJobs{}
	left := []string{"Job.batch shop/gone", there.String(), "Widget.example.com shop/unserved"}
	look := func(at report.Stage) *appRun {
		r := &appRun{engine: e, state: e.state(a.Key), app: a, purpose: rollingOut, at: at, access: tenancy.Access{Live: s}}
		r.app.Policy.Remediation = policy.Remediate
		r.inventory = inventory.Record{App: a.Key, Operation: inventory.Operation{Key: "1", Left: slices.Clone(left)}}
		r.observeHooks(t.Context())
		return r
	}
	if r := look(report.Apply); len(r.inventory.Operation.Left) != 3 || len(r.report.Hooks) != 1 {
		t.Errorf("a run that has failed has the record %v, and reports %v", r.inventory.Operation.Left, r.report.Hooks)
	}
	r := look(report.Observe)
	owed, _ := r.state.inventory.pending()
	if owed == nil || !slices.Equal(owed.Operation.Left, left[1:]) || len(r.report.Hooks) != 1 {
		t.Errorf("recorded is %v, reported %v", owed, r.report.Hooks)
	}
}
