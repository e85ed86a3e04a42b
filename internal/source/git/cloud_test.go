package git_test

import (
	"errors"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/git"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// storeInCloud is a store, in a directory, of a controller with these identities.
func storeInCloud(t *testing.T, dir string, environment cloud.Environment) *git.Store {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	s, err := git.OpenStore(git.Options{
		Dir: dir, Executable: self, Servers: loopback, Clouds: &cloud.Exchange{Servers: loopback, Environment: environment},
	})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s
}

// TestARepositoryIsReadAsAnIdentityOfItsCloud has a token of Azure DevOps, which the server demands; also of a clone that takes the place of a damaged one.
func TestARepositoryIsReadAsAnIdentityOfItsCloud(t *testing.T) {
	clouds, err := cloudtest.Start()
	must(t, err)
	t.Cleanup(clouds.Close)
	r := gittest.New(t, map[string]string{"a.yaml": "a: 1\n"})
	to, err := url.Parse(gittest.ServeHTTP(t, r, gittest.HTTPOptions{BearerToken: "token-0-of-a-cloud"}).URL)
	must(t, err)
	clouds.Serve("dev.azure.com", httputil.NewSingleHostReverseProxy(&url.URL{Scheme: to.Scheme, Host: to.Host}))
	dir := filepath.Join(t.TempDir(), "store")
	s := storeInCloud(t, dir, cloud.Environment{"AZURE_POD_IDENTITY_AUTHORITY_HOST": clouds.Plain})
	spec := source.Spec{URL: "https://dev.azure.com" + to.Path, Ref: source.Ref{Branch: "main"}, Auth: source.Auth{
		Username: "other", Password: canary, CABundle: clouds.CA, Proxy: clouds.Proxy, Cloud: provider.Identity{Cloud: provider.Azure, Namespace: "apps"},
	}}
	if a, err := s.Fetch(t.Context(), spec); err != nil || a.Commit == "" {
		t.Errorf("%+v, %v", a, err)
	}
	if scope := clouds.ScopeOf("token-0-of-a-cloud"); scope != "499b84ac-1321-427f-aa17-267ca6975798" {
		t.Errorf("the token was given for %q", scope)
	}
	write(t, onlyClone(t, dir), "shallow", "none\n")
	healed(t, s, spec, map[string]string{"a.yaml": "a: 1\n"})
}

// TestNoRepositoryElsewhereGetsTheCredentialsOfAnIdentity: they are asked for, for a repository of the cloud alone.
func TestNoRepositoryElsewhereGetsTheCredentialsOfAnIdentity(t *testing.T) {
	s := storeInCloud(t, filepath.Join(t.TempDir(), "store"), cloud.Environment{"AWS_EC2_METADATA_DISABLED": "true"})
	for url, want := range map[string]string{
		"https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/apps": "the identity of the controller at AWS: the controller's pod has no identity at AWS",
		"https://evil.example/v1/repos/apps":                           `"evil.example" is no host of CodeCommit`,
	} {
		_, err := s.Fetch(t.Context(), source.Spec{URL: url, Auth: source.Auth{Username: "other", Password: canary, Cloud: provider.Identity{Cloud: provider.AWS, Namespace: "apps"}}})
		var e *source.Error
		if !errors.As(err, &e) || e.Reason != source.AuthenticationFailed || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}
