package preflight

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
)

// TestTheStateOfAControllerIsLookedForWhereItsFlagsSay is about its Lease, and the permissions of the Role truce-home.
func TestTheStateOfAControllerIsLookedForWhereItsFlagsSay(t *testing.T) {
	for want, flags := range map[string][][2]string{
		"truce-system": nil,
		"team-a":       {{"--namespace", "team-a,team-b"}},
		"truce-team-a": {{"--namespace", "team-a"}, {"--runtime-namespace", "truce-team-a"}},
		"elsewhere":    {{"--runtime-namespace", "elsewhere"}},
	} {
		x := &inspection{}
		for _, f := range flags {
			x.flag(&Installation{}, f[0], f[1])
		}
		if got := x.home("truce-system"); got != want {
			t.Errorf("%v: %s, want %s", flags, got, want)
		}
	}
}

// TestTwoInstancesWithOneStateAreSeen: not two Deployments of one instance, nor instances that have a state each.
func TestTwoInstancesWithOneStateAreSeen(t *testing.T) {
	deployment := func(name string, args ...any) object.Object {
		return object.Object{"metadata": map[string]any{"namespace": "truce-system", "name": name}, "spec": map[string]any{
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"args": args}}}},
		}}
	}
	for what, c := range map[string]struct {
		args []any
		want int
	}{
		"another instance":         {[]any{"--namespace=team-b", "--runtime-namespace=truce-system"}, 1},
		"one of the whole cluster": {nil, 1},
		"another Deployment of it": {[]any{"--namespace=tools,team-a", "--runtime-namespace=truce-system"}, 0},
		"another Deployment of it, whose flags are two arguments each": {[]any{"--namespace", "tools,team-a", "--runtime-namespace", "truce-system"}, 0},
		"another instance, whose flags are two arguments each":         {[]any{"--multi-tenant", "--namespace", "team-b", "--runtime-namespace", "truce-system"}, 1},
		"another instance, elsewhere":                                  {[]any{"--namespace=team-b"}, 0},
	} {
		x := &inspection{}
		x.facts.Installed = x.deployed(deployment("truce-a", "--namespace=team-a", "--namespace=tools", "--runtime-namespace=truce-system"))
		x.compareState(deployment("truce-b", c.args...))
		if got := x.facts.SharedStates; len(got) != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
