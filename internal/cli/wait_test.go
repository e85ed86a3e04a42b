package cli

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/health"
	"github.com/truce-gitops/truce/internal/report"
	"github.com/truce-gitops/truce/internal/view"
)

// TestFlagsOfArgocdsWaitAreCombinedAsArgocdDoes holds wait to the rules of checkResourceStatus of argo-cd.
func TestFlagsOfArgocdsWaitAreCombinedAsArgocdDoes(t *testing.T) {
	state := func(sync report.Sync, h health.Code, settled bool) view.Summary {
		return view.Summary{State: report.State{Sync: sync, Health: health.Status{Code: h}}, Settled: settled}
	}
	good, drifted := state(report.Synced, health.Healthy, true), state(report.OutOfSync, health.Healthy, true)
	broken, asleep := state(report.Synced, health.Degraded, true), state(report.Synced, health.Suspended, true)
	busy := state(report.Synced, health.Degraded, false)
	for name, c := range map[string]struct {
		flags    waitFlags
		yes, not []view.Summary
	}{
		"healthy":                     {waitFlags{}, []view.Summary{good}, []view.Summary{drifted, broken, asleep}},
		"healthy ":                    {waitFlags{health: true}, []view.Summary{good, drifted}, []view.Summary{broken, asleep}},
		"healthy or suspended":        {waitFlags{health: true, suspended: true}, []view.Summary{good, drifted, asleep}, []view.Summary{broken}},
		"degraded or healthy, synced": {waitFlags{health: true, degraded: true, sync: true}, []view.Summary{good, broken}, []view.Summary{drifted, asleep}},
		"operation, synced":           {waitFlags{operation: true, sync: true}, []view.Summary{good, broken}, []view.Summary{drifted, busy}},
		"degraded, operation":         {waitFlags{degraded: true, operation: true}, []view.Summary{broken}, []view.Summary{busy, good}},
		"suspended":                   {waitFlags{suspended: true}, []view.Summary{asleep}, []view.Summary{good}},
		"healthy, operation, synced":  {waitFlags{operation: true, sync: true, health: true}, []view.Summary{good}, []view.Summary{drifted, broken, asleep, busy}},
	} {
		until := c.flags.asked()
		for _, s := range c.yes {
			if !until.is(s) {
				t.Errorf("%s is not it: %+v", name, s)
			}
		}
		for _, s := range c.not {
			if until.is(s) {
				t.Errorf("%s is it: %+v", name, s)
			}
		}
	}
	if gone := (&waitFlags{gone: true, health: true}).asked(); gone.is != nil || gone.name != "delete" {
		t.Errorf("--delete: %+v", gone)
	}
}
