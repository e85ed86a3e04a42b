package remote

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
	"github.com/truce-gitops/truce/internal/model/identity"
	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
)

// TestTheTokensOfAClusterOfACloudAreThoseOfAnIdentity: what a ConfigMap names is connected to by them.
func TestTheTokensOfAClusterOfACloudAreThoseOfAnIdentity(t *testing.T) {
	clouds, err := cloudtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clouds.Close)
	r, err := cluster.ParseReference(map[string]string{"provider": "gcp", "cluster": "projects/acme/locations/europe-west1/clusters/prod", "address": "there.example", "serviceAccountName": "pusher"})
	if err != nil || r.Cloud != provider.GCP || r.Address != "https://there.example" || r.Name == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	e := &cloud.Exchange{Environment: cloud.Environment{"GCE_METADATA_HOST": strings.TrimPrefix(clouds.Plain, "http://")}}
	tokens := cloudTokens{e, provider.Identity{Cloud: r.Cloud, Namespace: "apps"}, r.Name}
	token, err := tokens.Token(t.Context())
	if err != nil || clouds.ScopeOf(token) != cloudtest.GoogleMachine {
		t.Errorf("a token for %q, %v", clouds.ScopeOf(token), err)
	}
	one, other := identity.Account{Namespace: "apps", Name: "pusher"}, identity.Account{Namespace: "other", Name: "pusher"}
	if r.CloudKubeconfig(one, tokens).Digest() == r.CloudKubeconfig(other, tokens).Digest() {
		t.Error("the digest is not that of the reference and the account")
	}
}
