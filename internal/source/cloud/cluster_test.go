package cloud_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
)

const (
	eksName = "arn:aws:eks:eu-west-1:123456789012:cluster/prod"
	aksName = "/subscriptions/99999999-8888-7777-6666-555555555555/resourceGroups/acme/providers/Microsoft.ContainerService/managedClusters/prod"
	gkeName = "projects/acme/locations/europe-west1/clusters/prod"
)

// TestAClusterOfACloudIsFoundAndReached: its address and authority are what the cloud says, and the token is one that it takes.
func TestAClusterOfACloudIsFoundAndReached(t *testing.T) {
	allow(t)
	e := exchange(everyone())
	for _, c := range []struct {
		cloud                provider.Cloud
		name, address, scope string
	}{
		{provider.AWS, eksName, "https://prod.example", ""}, {provider.Azure, aksName, "https://aks.example:443", "6dae42f8-4368-4678-94ff-3960e28e3630"},
		{provider.GCP, gkeName, "https://203.0.113.7", cloudtest.GoogleAccount},
	} {
		at, err := e.Locate(t.Context(), of(c.cloud, "reader"), cloud.Cluster{Name: c.name})
		if err != nil || at.Address != c.address || at.CA != clouds.CA {
			t.Errorf("%s: %s, %v", c.name, at.Address, err)
		}
		token, err := e.ClusterToken(t.Context(), of(c.cloud, "reader"), c.name)
		if err != nil || clouds.ScopeOf(token) != c.scope {
			t.Errorf("%s: a token for %q, %v", c.name, clouds.ScopeOf(token), err)
		}
		if c.cloud == provider.AWS {
			if fault := cloudtest.PresignedFault(token, "prod", "eu-west-1"); fault != "" {
				t.Error("EKS: " + fault)
			}
		}
		known := cloud.Cluster{Name: c.name, Address: "https://other.example", CA: "pem"}
		if at, err := e.Locate(t.Context(), of(c.cloud, "reader"), known); err != nil || at != known {
			t.Errorf("%s: what is named: %+v, %v", c.name, at, err)
		}
		for _, name := range []string{"", "prod", "../" + c.name, c.name + "?x=", c.name + "/x", strings.Replace(c.name, "prod", "evil.example#", 1)} {
			if _, err := e.Locate(t.Context(), of(c.cloud, "reader"), cloud.Cluster{Name: name}); err == nil {
				t.Errorf("%q is taken for a cluster", name)
			}
		}
	}
}

// TestAClusterOfANationalCloudIsFoundThere: by the Entra ID that AZURE_AUTHORITY_HOST names.
func TestAClusterOfANationalCloudIsFoundThere(t *testing.T) {
	allow(t)
	e := exchange(everyone(), "AZURE_AUTHORITY_HOST=https://login.microsoftonline.us/")
	at, err := e.Locate(t.Context(), of(provider.Azure, "reader"), cloud.Cluster{Name: aksName})
	if err != nil || at.Address != "https://aks.example:443" {
		t.Errorf("%+v, %v", at, err)
	}
	if asked := strings.Join(clouds.Requests(), "\n"); !strings.Contains(asked, "management.usgovcloudapi.net") || strings.Contains(asked, "management.azure.com") || strings.Contains(asked, "login.microsoftonline.com") {
		t.Errorf("asked: %s", asked)
	}
}

// TestTheControllersTokenGoesToNoOtherCluster: with its own identity, an address is one that the cloud names.
func TestTheControllersTokenGoesToNoOtherCluster(t *testing.T) {
	allow(t)
	k := clouds.Keys()
	e := exchange(nil, "AWS_ACCESS_KEY_ID="+k.Access, "AWS_SECRET_ACCESS_KEY="+k.Secret, "AWS_SESSION_TOKEN="+k.Token)
	_, err := e.Locate(t.Context(), of(provider.AWS, ""), cloud.Cluster{Name: eksName, Address: "https://evil.example", CA: "pem"})
	wants(t, err, "the address is not the one that the cloud names")
	at, err := e.Locate(t.Context(), of(provider.AWS, ""), cloud.Cluster{Name: eksName, Address: "https://PROD.example:443", CA: "pem of another"})
	if err != nil || at.CA != clouds.CA {
		t.Errorf("%+v, %v", at, err)
	}
}
