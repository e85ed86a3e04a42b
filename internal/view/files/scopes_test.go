package files_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/reconcile/adhoc"
	"github.com/truce-gitops/truce/internal/render/desired"
	"github.com/truce-gitops/truce/internal/testing/kubetest"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// TestTheScopesOfBuiltInKindsAreThoseOfTheServer: commands without a server take each kind for what the API server says of it.
func TestTheScopesOfBuiltInKindsAreThoseOfTheServer(t *testing.T) {
	disco, err := discovery.NewDiscoveryClientForConfig(kubetest.Start(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := disco.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range list.APIResources {
			gvk := object.GVK{Group: gv.Group, Version: gv.Version, Kind: kind.Kind}
			if strings.Contains(kind.Name, "/") || !desired.IsBuiltInGroup(gvk.Group) {
				continue
			}
			want := desired.ClusterWide
			if kind.Namespaced {
				want = desired.Namespaced
			}
			if got := adhoc.BuiltinScope(gvk); got != want {
				t.Errorf("%s: %v, and the server says %v", gvk, got, want)
			}
			compared++
		}
	}
	t.Logf("%d kinds", compared)
	if compared < 60 {
		t.Errorf("only %d kinds were compared", compared)
	}
}
