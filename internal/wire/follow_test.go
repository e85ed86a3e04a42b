package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/object"
)

func TestAnInventoryEntryNamesItsObject(t *testing.T) {
	for text, want := range map[string]object.ID{
		"shop_web_apps_Deployment":                            {Namespace: "shop", Name: "web", Group: "apps", Kind: "Deployment"},
		"shop_web__ConfigMap":                                 {Namespace: "shop", Name: "web", Kind: "ConfigMap"},
		"_shop__Namespace":                                    {Name: "shop", Kind: "Namespace"},
		"_system__node_rbac.authorization.k8s.io_ClusterRole": {Name: "system:node", Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"},
	} {
		got, ok := parseEntry(text)
		if diff := cmp.Diff(want, got); diff != "" || !ok {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"", "_", "__", "___", "shop_web", "shop_web_apps_"} {
		if got, ok := parseEntry(text); ok {
			t.Errorf("%q was taken for %v", text, got)
		}
	}
}

func FuzzInventoryEntry(f *testing.F) {
	f.Add("shop_web_apps_Deployment")
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := parseEntry(text)
		if ok && strings.Contains(id.Kind+id.Group, "_") {
			t.Errorf("%q gave %v", text, id)
		}
	})
}
