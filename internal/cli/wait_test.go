package cli

import (
	"bytes"
	"context"
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/exit"
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

// partlyListed is a cluster where the user may list all kinds of apps in some namespaces, and but one in the others.
type partlyListed struct {
	someApps
	open    map[string]bool // "" for the whole cluster
	refused *[]string
}

func (p partlyListed) Names(ctx context.Context, ns string) ([]app.Key, error) {
	if !p.open[ns] {
		*p.refused = []string{"apps of kind Kustomization are left out"}
	}
	return p.someApps.Names(ctx, ns)
}

func (p partlyListed) Refused() []string { return *p.refused }

// TestOnlyWhatIsKnownToBeGoneIsGone: an app that may not be listed, or that is in another namespace than -n says, is not.
func TestOnlyWhatIsKnownToBeGoneIsGone(t *testing.T) {
	here, everywhere := map[string]bool{"shop": true}, map[string]bool{"shop": true, "": true}
	for name, c := range map[string]struct {
		open map[string]bool
		arg  string
		want exit.Code
	}{
		"gone":                            {everywhere, "web", exit.Same},
		"gone, and little else is known":  {here, "web", exit.Same},
		"its kind may not be listed":      {nil, "web", exit.Cluster},
		"in another namespace":            {everywhere, "hr/tools", exit.Cluster},
		"in another one, refused in this": {nil, "hr/tools", exit.Cluster},
	} {
		there := partlyListed{someApps{keys: []app.Key{{Kind: "HelmRelease", Namespace: "tools", Name: "tools"}}}, c.open, new([]string)}
		var out, notes bytes.Buffer
		env := Environment{Out: &out, Err: &notes, Program: "truce", Args: []string{"app", "wait", c.arg, "-n", "shop", "--for=delete"}, Getenv: func(string) string { return "" }}
		if code := Execute(t.Context(), env, Backend{Clusters: answers{Cluster{AppReader: there, Refusals: there}}}); exit.Code(code) != c.want {
			t.Errorf("%s: exit code %d, want %d: %s", name, code, c.want, notes.String())
		}
	}
}
