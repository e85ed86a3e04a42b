package controller

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
)

func TestADependencyInANamespaceOfAnotherInstanceIsSaidToBeOutOfSight(t *testing.T) {
	t.Parallel()
	id := object.ID{Group: "kustomize.toolkit.fluxcd.io", Kind: "Kustomization", Namespace: "infra", Name: "certs"}
	for _, seen := range []cluster.Namespaces{nil, {"infra"}, {"apps", "infra"}} {
		if why := outOfSight(id, seen); why != "" {
			t.Errorf("%v: %s", seen, why)
		}
	}
	const want = "dependency 'infra/certs' cannot be seen: this truce does not work for namespace infra (--namespace apps,web)"
	if why := outOfSight(id, cluster.Namespaces{"apps", "web"}); !strings.HasPrefix(why, want) {
		t.Error(why)
	}
}

// TestAnAppThatIsGoneWaitsForNothing: nor does one that waits no longer, whatever it depended on before.
func TestAnAppThatIsGoneWaitsForNothing(t *testing.T) {
	c, s, _ := speaking(t)
	cr := resource()
	key := c.setApp(t, s, cr)
	on := func(name string) object.ID { return object.ID{Group: cr.ID().Group, Kind: key.Kind, Name: name} }
	waits := func() {
		for _, name := range []string{"a", "b"} { // as the members of a cycle are waited for
			c.dependents.await(on(name), key)
		}
	}
	waits()
	if why := c.Unready(app.App{Key: key}, ""); why != "" || len(c.dependents.waiting) > 0 {
		t.Errorf("an app that depends on nothing waits: %q, %v", why, c.dependents.waiting)
	}
	waits()
	if again := c.forgetApp(t.Context(), key); again > 0 || len(c.dependents.waiting) > 0 {
		t.Errorf("an app that is gone waits: %s, %v", again, c.dependents.waiting)
	}
}
