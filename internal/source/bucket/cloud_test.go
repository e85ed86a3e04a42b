package bucket_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/bucket"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
	"github.com/truce-gitops/truce/internal/testing/s3test"
)

const blobHost = "acme.blob.core.windows.net"

func startClouds(t *testing.T) *cloudtest.Clouds {
	t.Helper()
	c, err := cloudtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// inCloud is a store of a controller with an identity at every cloud, by its environment.
func inCloud(t *testing.T, c *cloudtest.Clouds) *bucket.Store {
	t.Helper()
	s := newStore(t)
	k := c.Keys()
	s.Clouds = &cloud.Exchange{Servers: loopback, Environment: cloud.Environment{
		"AWS_ACCESS_KEY_ID": k.Access, "AWS_SECRET_ACCESS_KEY": k.Secret, "AWS_SESSION_TOKEN": k.Token, "STORAGE_EMULATOR_HOST": c.Host("storage.googleapis.com"),
		"GCE_METADATA_HOST": strings.TrimPrefix(c.Plain, "http://"), "AZURE_POD_IDENTITY_AUTHORITY_HOST": c.Plain,
	}}
	return s
}

func files() map[string]string {
	return map[string]string{"a ü+%.yaml": "a: 1\n", "b/app.yaml": "b: 1\n", "c.yaml": "c: 1\n", ".sourceignore": "c.yaml\n"}
}

// follows reads a bucket of two files, without a download where nothing is new, and one file more.
func follows(t *testing.T, c *cloudtest.Clouds, store *bucket.Store, spec source.Spec, s *cloudtest.Storage, revision string) {
	t.Helper()
	a := fetch(t, store, spec)
	if diff := cmp.Diff(map[string]string{"a ü+%.yaml": "a: 1\n", "b/app.yaml": "b: 1\n"}, filesOf(t, a)); diff != "" || a.Revision != revision {
		t.Errorf("%s, want %s (-want +got):\n%s", a.Revision, revision, diff)
	}
	c.Requests()
	if again := fetch(t, store, spec); again.Revision != a.Revision {
		t.Error(again.Revision)
	}
	if asked := c.Requests(); len(asked) != 2 { // pages of two objects
		t.Errorf("a poll asks %v", asked)
	}
	s.Put("d.yaml", "d: 1\n")
	if got := filesOf(t, fetch(t, store, spec)); got["d.yaml"] != "d: 1\n" {
		t.Errorf("%v", got)
	}
}

func lines(tag func(string) string) string {
	return revisionOf("a ü+%.yaml " + tag("a: 1\n") + "\nb/app.yaml " + tag("b: 1\n") + "\n")
}

func TestABucketOfGoogleCloudIsReadAsAnIdentity(t *testing.T) {
	c := startClouds(t)
	s := c.NewStorage("files", files())
	c.Serve("storage.googleapis.com", s.Google())
	spec := source.Spec{Kind: source.ObjectStorage, URL: "https://storage.googleapis.com", Bucket: source.Bucket{Name: "files", API: provider.GoogleAPI}, Auth: source.Auth{Cloud: provider.Identity{Cloud: provider.GCP, Namespace: "apps"}}}
	store := inCloud(t, c)
	follows(t, c, store, spec, s, lines(cloudtest.TagOf))
	spec.Bucket.Name = "other"
	refused(t, store, spec, source.BucketFailed)
	spec.Auth.Cloud.Account = "reader"
	if text := refused(t, store, spec, source.AuthenticationFailed); !strings.Contains(text, "ServiceAccount apps/reader at GCP") {
		t.Error(text)
	}
}

func TestABucketOfAzureIsReadAsAnIdentity(t *testing.T) {
	c := startClouds(t)
	s := c.NewStorage("files", files())
	c.Serve(blobHost, s.Blob())
	store := inCloud(t, c)
	spec := source.Spec{Kind: source.ObjectStorage, URL: "https://" + blobHost, Bucket: source.Bucket{Name: "files", API: provider.BlobAPI},
		Auth: source.Auth{Cloud: provider.Identity{Cloud: provider.Azure, Namespace: "apps"}, Proxy: c.Proxy, CABundle: c.CA}}
	follows(t, c, store, spec, s, lines(func(content string) string { return fmt.Sprintf("%x", cloudtest.TagOf(content)) }))
	for login, password := range map[provider.StorageLogin]string{provider.AccountKey: cloudtest.AccountKey, provider.SharedAccess: "?sv=2020-08-04&sig=" + cloudtest.Signature, provider.ManagedClient: ""} {
		by := spec
		by.Auth = source.Auth{Username: cloudtest.MachineClient, Password: password, Secret: "apps/login", Proxy: c.Proxy, CABundle: c.CA}
		by.Bucket.Login = login
		if got := filesOf(t, fetch(t, store, by)); len(got) != 3 {
			t.Errorf("%s: %v", login, got)
		}
		by.Auth.Password, by.Auth.Username = "YW5vdGhlcg==", "another"
		text := refused(t, store, by, map[bool]source.Reason{true: source.AuthenticationFailed, false: source.BucketFailed}[login == provider.ManagedClient])
		if login != provider.ManagedClient && !strings.Contains(text, "403 Forbidden (AuthorizationFailure) to the credentials of Secret apps/login") {
			t.Error(text)
		}
	}
	spec.Bucket.Name = "other"
	if text := refused(t, store, spec, source.BucketFailed); !strings.Contains(text, `bucket "other" does not exist`) {
		t.Error(text)
	}
	spec.URL = "http://" + blobHost
	if text := refused(t, store, spec, source.AuthenticationFailed); !strings.Contains(text, "not sent without TLS") {
		t.Error(text)
	}
}

// TestAPublicBucketOfAzureNeedsNoIdentity: where the controller has none, the bucket is asked without; one that is not public says why there is none.
func TestAPublicBucketOfAzureNeedsNoIdentity(t *testing.T) {
	c := startClouds(t)
	s := c.NewStorage("files", files())
	c.Serve(blobHost, s.Blob())
	store := newStore(t)
	store.Clouds = &cloud.Exchange{Servers: loopback, Environment: cloud.Environment{"AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:1"}}
	spec := source.Spec{Kind: source.ObjectStorage, URL: "https://" + blobHost, Bucket: source.Bucket{Name: "files", API: provider.BlobAPI},
		Auth: source.Auth{Cloud: provider.Identity{Cloud: provider.Azure, Namespace: "apps"}, Proxy: c.Proxy, CABundle: c.CA}}
	if text := refused(t, store, spec, source.AuthenticationFailed); !strings.Contains(text, "the identity of the controller at Azure") {
		t.Error(text)
	}
	s.Publish()
	if got := filesOf(t, fetch(t, store, spec)); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestABucketOfAmazonIsReadAsAnIdentity(t *testing.T) {
	c := startClouds(t)
	s := s3test.New(t)
	k := c.Keys()
	s.DemandKeys(k)
	s.Put("a.yaml", "a: 1\n")
	spec := specOf(s)
	spec.Auth = source.Auth{Cloud: provider.Identity{Cloud: provider.AWS, Namespace: "apps"}}
	store := inCloud(t, c)
	if got := filesOf(t, fetch(t, store, spec)); got["a.yaml"] != "a: 1\n" {
		t.Errorf("%v", got)
	}
	s.Demand("other", "other")
	if text := refused(t, store, spec, source.BucketFailed); !strings.Contains(text, "to the credentials of the identity of the controller at AWS") || strings.Contains(text, k.Token) {
		t.Error(text)
	}
}
