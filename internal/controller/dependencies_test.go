package controller

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
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
