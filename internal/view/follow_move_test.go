package view

import (
	"testing"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
)

// TestAReleaseIsFollowedWithoutALookIntoTheOtherCluster: it has been written by then, and the record of the app says when it is over.
func TestAReleaseIsFollowedWithoutALookIntoTheOtherCluster(t *testing.T) {
	a := app.App{Kubeconfig: identity.Kubeconfig{Refused: "you may not read the Secret of the kubeconfig"}}
	for mode, refused := range map[policy.AdoptionMode]bool{policy.HandBack: false, policy.TakeAlone: true} {
		m := &movement{adoption: policy.Adoption{Mode: mode}, waits: map[object.ID]string{{Kind: "ConfigMap", Name: "web"}: "v1"}}
		if err := (&Cluster{}).watchThere(t.Context(), a, m); (err != nil) != refused {
			t.Errorf("%s: %v", mode, err)
		}
		if _, all := m.count(); (all != 0) != refused {
			t.Errorf("%s: waits for %d objects", mode, all)
		}
	}
}
