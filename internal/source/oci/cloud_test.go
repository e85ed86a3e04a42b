package oci_test

import (
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// TestARegistryOfACloudIsReadAsAnIdentity has the login of ECR from keys of the environment. It is asked for once, and another one when it has ended.
func TestARegistryOfACloudIsReadAsAnIdentity(t *testing.T) {
	const host = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
	clouds, err := cloudtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clouds.Close)
	r := ocitest.New(t)
	r.Demand("AWS", cloudtest.RegistryPassword, ocitest.Basic)
	r.Push("apps/web", "latest", map[string]string{"a.yaml": "a: 1\n"}, nil)
	clouds.Serve(host, r)
	k := clouds.Keys()
	s := newStore(t)
	s.Clouds = &cloud.Exchange{Servers: s.Servers, Environment: cloud.Environment{
		"AWS_ACCESS_KEY_ID": k.Access, "AWS_SECRET_ACCESS_KEY": k.Secret, "AWS_SESSION_TOKEN": k.Token, "AWS_ENDPOINT_URL_ECR": clouds.Host("api.ecr.eu-west-1.amazonaws.com"),
	}}
	spec := source.Spec{Kind: source.OCI, URL: "oci://" + host + "/apps/web", Ref: source.Ref{Tag: "latest"}, Auth: source.Auth{
		Cloud: provider.Identity{Cloud: provider.AWS, Namespace: "apps"}, Proxy: clouds.Proxy, CABundle: clouds.CA,
	}}
	asked := func() int {
		n := 0
		for _, q := range clouds.Requests() {
			if strings.Contains(q, "api.ecr") {
				n++
			}
		}
		return n
	}
	clouds.Live(0)
	for range 2 {
		if a, err := s.Fetch(t.Context(), spec); err != nil || !strings.HasPrefix(a.Revision, "latest@sha256:") {
			t.Fatalf("%s, %v", a.Revision, err)
		}
	}
	if n := asked(); n != 2 {
		t.Errorf("a login that has ended was asked for again %d times, want 2", n)
	}
	clouds.Live(time.Hour)
	for range 3 {
		if _, err := s.Fetch(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked(); n != 1 {
		t.Errorf("a login was asked for %d times, want 1", n)
	}
	r.Demand("AWS", "another", ocitest.Basic)
	_, err = s.Fetch(t.Context(), spec)
	if err == nil || !strings.Contains(err.Error(), "401 Unauthorized to the credentials of the identity of the controller at AWS") || strings.Contains(err.Error(), cloudtest.RegistryPassword) {
		t.Error(err)
	}
	spec.Auth.Cloud.Account = "reader"
	if _, err = s.Fetch(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "the identity of ServiceAccount apps/reader at AWS: no ServiceAccount can be read") {
		t.Error(err)
	}
}
