package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
)

// TestMain starts the services of the clouds, and a proxy of the environment that leads to them under their own names.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cloud")
	var c *cloudtest.Clouds
	if err == nil {
		c, err = cloudtest.Start()
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "ca.pem"), []byte(c.CA), 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Setenv("HTTPS_PROXY", c.Proxy) // of this process alone
	_ = os.Setenv("SSL_CERT_FILE", filepath.Join(dir, "ca.pem"))
	clouds = c
	code := m.Run()
	c.Close()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

var clouds *cloudtest.Clouds

// accounts are ServiceAccounts by NAMESPACE/NAME, and their annotations.
type accounts map[string]map[string]string

func (a accounts) Annotations(_ context.Context, namespace, name string) (map[string]string, error) {
	out, ok := a[namespace+"/"+name]
	if !ok {
		return nil, errors.New("it is not there")
	}
	return out, nil
}

func (a accounts) AccountToken(_ context.Context, namespace, name, audience string) (string, error) {
	return cloudtest.Token("system:serviceaccount:"+namespace+":"+name, audience), nil
}

const (
	role    = "arn:aws:iam::123456789012:role/reader"
	email   = "reader@acme.iam.gserviceaccount.com"
	pool    = "projects/42/locations/global/workloadIdentityPools/pool/providers/cluster"
	client  = "11111111-2222-3333-4444-555555555555"
	ecrHost = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	acrHost = "acme.azurecr.io"
	garHost = "europe-docker.pkg.dev"
)

// everyone is a ServiceAccount with an identity at each cloud.
func everyone() accounts {
	return accounts{"apps/reader": {
		"eks.amazonaws.com/role-arn": role, "azure.workload.identity/client-id": client, "azure.workload.identity/tenant-id": cloudtest.Tenant,
		"iam.gke.io/gcp-service-account": email, "gcp.auth.fluxcd.io/workload-identity-provider": pool,
	}, "apps/default": {}}
}

// allow gives the ServiceAccount its identities.
func allow(t *testing.T) {
	t.Helper()
	for _, id := range []string{role, client, email, "//iam.googleapis.com/" + pool, "identitynamespace:acme.svc.id.goog:https://container.googleapis.com/v1/projects/acme/locations/europe-west1/clusters/prod"} {
		clouds.Allow(id, "system:serviceaccount:apps:reader")
	}
	t.Cleanup(func() { clouds.Live(time.Hour); clouds.Refuse("") })
	clouds.Requests()
}

func exchange(a cloud.Accounts, environment ...string) *cloud.Exchange {
	return &cloud.Exchange{Servers: egress.Policy{}, Environment: cloud.EnvironmentOf(environment), Accounts: a}
}

func of(c provider.Cloud, account string) provider.Identity {
	return provider.Identity{Cloud: c, Namespace: "apps", Account: account}
}

// wants a refusal, and returns its text, which has no credential in it.
func wants(t *testing.T, err error, text string) {
	t.Helper()
	var e *transport.FetchError
	if !errors.As(err, &e) || e.Reason != source.AuthenticationFailed || !strings.Contains(err.Error(), text) {
		t.Errorf("%v, want AuthenticationFailed with %q", err, text)
	}
	for _, secret := range []string{clouds.Keys().Secret, clouds.Keys().Token, cloudtest.ClientSecret, "e30."} {
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("a credential is in %q", err)
		}
	}
}
