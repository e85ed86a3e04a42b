package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNoNamespacesAreAllOfThem(t *testing.T) {
	var all Namespaces
	if all.Limited() || !all.Cover("any") || all.Home("", "own") != "own" {
		t.Errorf("limited %v, covers any %v, home %q", all.Limited(), all.Cover("any"), all.Home("", "own"))
	}
	if diff := cmp.Diff([]string{""}, all.Each()); diff != "" {
		t.Error(diff)
	}
}

func TestTheFirstNamespaceIsHome(t *testing.T) {
	some := Namespaces{"b", "a"}
	if !some.Limited() || !some.Cover("a") || some.Cover("c") || some.Cover("") || some.Home("", "own") != "b" {
		t.Errorf("%v: home %q", some, some.Home("", "own"))
	}
	if diff := cmp.Diff([]string{"b", "a"}, some.Each()); diff != "" {
		t.Error(diff)
	}
}

func TestANamespaceThatIsNamedForItIsHome(t *testing.T) {
	for name, n := range map[string]Namespaces{"of the whole cluster": nil, "of some namespaces": {"b", "a"}} {
		if got := n.Home("named", "own"); got != "named" {
			t.Errorf("%s: home %q", name, got)
		}
	}
}
