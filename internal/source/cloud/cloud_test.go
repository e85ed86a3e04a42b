package cloud_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/testing/cloudtest"
)

// TestAServiceAccountHasTheLoginOfARegistry exchanges tokens of a ServiceAccount at each cloud.
func TestAServiceAccountHasTheLoginOfARegistry(t *testing.T) {
	allow(t)
	e := exchange(everyone())
	for _, c := range []struct {
		cloud          provider.Cloud
		host, user, of string
	}{
		{provider.AWS, ecrHost, "AWS", ""}, {provider.AWS, "public.ecr.aws", "AWS", ""}, {provider.GCP, garHost, "oauth2accesstoken", cloudtest.GoogleAccount},
		{provider.GCP, "eu.gcr.io", "oauth2accesstoken", cloudtest.GoogleAccount}, {provider.Azure, acrHost, "00000000-0000-0000-0000-000000000000", ""},
	} {
		got, err := e.Registry(t.Context(), of(c.cloud, "reader"), c.host)
		if err != nil || got.User != c.user || got.Password == "" || clouds.ScopeOf(got.Password) != c.of {
			t.Errorf("%s: %q %q of %q, %v", c.host, got.User, got.Password, clouds.ScopeOf(got.Password), err)
		}
		if left := time.Until(got.Until); left < 50*time.Minute || left > 61*time.Minute {
			t.Errorf("%s: holds for %s", c.host, left)
		}
		clouds.Requests()
		again, err := e.Registry(t.Context(), of(c.cloud, "reader"), c.host)
		if asked := clouds.Requests(); err != nil || again != got || len(asked) > 0 {
			t.Errorf("%s: the second time: %v, and was asked %v", c.host, err, asked)
		}
	}
	if text := (cloud.Credential{Password: "secret"}).String(); strings.Contains(text, "secret") {
		t.Error(text)
	}
}

// TestTheControllerHasTheIdentityOfItsEnvironment has a way for each form in which a cloud gives a pod its identity, the first of which wins.
func TestTheControllerHasTheIdentityOfItsEnvironment(t *testing.T) {
	allow(t)
	file := filepath.Join(t.TempDir(), "token")
	write := func(text string) string {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	pod := func(audience string) string {
		return write(cloudtest.Token("system:serviceaccount:apps:reader", audience))
	}
	instance := "AWS_EC2_METADATA_SERVICE_ENDPOINT=" + clouds.Plain
	for name, c := range map[string]struct {
		cloud       provider.Cloud
		host, asked string
		environment func() []string
	}{
		"web identity": {provider.AWS, ecrHost, "POST sts.eu-west-1.amazonaws.com/", func() []string {
			return []string{"AWS_ROLE_ARN=" + role, "AWS_WEB_IDENTITY_TOKEN_FILE=" + pod("sts.amazonaws.com"), "AWS_ACCESS_KEY_ID=other", "AWS_SECRET_ACCESS_KEY=other"}
		}},
		"pod identity": {provider.AWS, ecrHost, "GET metadata/v1/credentials", func() []string {
			return []string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=" + clouds.Plain + "/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=" + write(cloudtest.TokenOfPod)}
		}},
		"keys": {provider.AWS, ecrHost, "", func() []string {
			k := clouds.Keys()
			return []string{"AWS_ACCESS_KEY_ID=" + k.Access, "AWS_SECRET_ACCESS_KEY=" + k.Secret, "AWS_SESSION_TOKEN=" + k.Token, instance}
		}},
		"an instance": {provider.AWS, ecrHost, "GET metadata/latest/meta-data/iam/security-credentials/role-of-a-node", func() []string { return []string{instance} }},
		"a workload": {provider.Azure, acrHost, "POST login.microsoftonline.com/" + cloudtest.Tenant + "/oauth2/v2.0/token", func() []string {
			return []string{"AZURE_CLIENT_ID=" + client, "AZURE_TENANT_ID=" + cloudtest.Tenant, "AZURE_FEDERATED_TOKEN_FILE=" + pod("api://AzureADTokenExchange")}
		}},
		"a service principal": {provider.Azure, acrHost, "POST login.microsoftonline.com/" + cloudtest.Tenant + "/oauth2/v2.0/token", func() []string {
			return []string{"AZURE_CLIENT_ID=any", "AZURE_TENANT_ID=" + cloudtest.Tenant, "AZURE_CLIENT_SECRET=" + cloudtest.ClientSecret}
		}},
		"a managed identity": {provider.Azure, acrHost, "GET metadata/metadata/identity/oauth2/token", func() []string {
			return []string{"AZURE_CLIENT_ID=" + cloudtest.MachineClient, "AZURE_POD_IDENTITY_AUTHORITY_HOST=" + clouds.Plain}
		}},
		"a pod of GKE": {provider.GCP, garHost, "GET metadata/computeMetadata/v1/instance/service-accounts/default/token", func() []string {
			return []string{"GCE_METADATA_HOST=" + strings.TrimPrefix(clouds.Plain, "http://")}
		}},
		"a file of Google": {provider.GCP, garHost, "POST sts.googleapis.com/v1/token", func() []string {
			config := filepath.Join(filepath.Dir(file), "config.json")
			text := `{"type":"external_account","audience":"//iam.googleapis.com/` + pool + `","token_url":"https://evil.example","credential_source":{"file":"` + pod("//iam.googleapis.com/"+pool) + `"}}`
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return []string{"GOOGLE_APPLICATION_CREDENTIALS=" + config}
		}},
	} {
		clouds.Requests()
		got, err := exchange(nil, c.environment()...).Registry(t.Context(), of(c.cloud, ""), c.host)
		if asked := clouds.Requests(); err != nil || got.Password == "" || c.asked != "" && !slices.Contains(asked, c.asked) {
			t.Errorf("%s: %v, after %v", name, err, asked)
		}
	}
}

// TestACredentialIsReplacedBeforeItsEnd, and is asked for again by a ServiceAccount that has another role, or is gone.
func TestACredentialIsReplacedBeforeItsEnd(t *testing.T) {
	allow(t)
	clouds.Live(0)
	a := everyone()
	e := exchange(a)
	ask := func() error {
		_, err := e.Registry(t.Context(), of(provider.GCP, "reader"), garHost)
		return err
	}
	for range 2 {
		if err := ask(); err != nil || len(clouds.Requests()) == 0 {
			t.Errorf("one that has ended is used: %v", err)
		}
	}
	clouds.Live(time.Hour)
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	clouds.Requests()
	a["apps/reader"]["iam.gke.io/gcp-service-account"] = "other@acme.iam.gserviceaccount.com"
	wants(t, ask(), "the IAM API of Google Cloud answers 403 Forbidden")
	delete(a, "apps/reader")
	wants(t, ask(), "the identity of ServiceAccount apps/reader at GCP: it is not there")
}

// admins are the tenants of a cluster of which one namespace is the administrators'.
type admins string

// IdentityAccount implements cloud.Tenants.
func (a admins) IdentityAccount(namespace string) string {
	if namespace == string(a) {
		return ""
	}
	return "default"
}

func TestATenantDoesNotHaveTheControllersIdentity(t *testing.T) {
	allow(t)
	k := clouds.Keys()
	a := everyone()
	e := exchange(a, "AWS_ACCESS_KEY_ID="+k.Access, "AWS_SECRET_ACCESS_KEY="+k.Secret, "AWS_SESSION_TOKEN="+k.Token)
	e.Tenants = admins("flux-system")
	_, err := e.Registry(t.Context(), of(provider.AWS, ""), ecrHost)
	wants(t, err, "the identity of ServiceAccount apps/default at AWS: it lacks the annotation eks.amazonaws.com/role-arn")
	_, err = e.ManagedToken(t.Context(), "apps", cloudtest.MachineClient)
	wants(t, err, "not for tenants")
	for namespace, ok := range map[string]bool{"flux-system": true, "apps": false, "elsewhere": false} {
		_, err := e.Registry(t.Context(), provider.Identity{Cloud: provider.AWS, Namespace: namespace}, ecrHost)
		if (err == nil) != ok {
			t.Errorf("%s: %v", namespace, err)
		}
	}
	a["apps/default"] = a["apps/reader"]
	clouds.Allow(role, "system:serviceaccount:apps:default")
	if _, err := e.Registry(t.Context(), of(provider.AWS, ""), ecrHost); err != nil {
		t.Errorf("the account of tenants: %v", err)
	}
}

// TestNoCredentialGoesElsewhere has names that a custom resource or a ServiceAccount chooses: none leads to a request.
func TestNoCredentialGoesElsewhere(t *testing.T) {
	allow(t)
	k := clouds.Keys()
	e := exchange(everyone(), "AWS_ACCESS_KEY_ID="+k.Access, "AWS_SECRET_ACCESS_KEY="+k.Secret, "GCE_METADATA_HOST="+strings.TrimPrefix(clouds.Plain, "http://"), "AZURE_POD_IDENTITY_AUTHORITY_HOST="+clouds.Plain)
	clouds.Requests()
	for _, host := range []string{
		"evil.example", ecrHost + ".evil.example", ecrHost + ":443", "evil.example/" + ecrHost, "evil." + ecrHost, "123456789012.dkr.ecr.evil_example#.amazonaws.com",
		"evil-azurecr.io", "acme.azurecr.io.evil.example", "acme.azurecr.io:444", "evil.example#.azurecr.io", "gcr.io.evil.example", "evil-gcr.io", "a.b.pkg.dev", "evil.example/-docker.pkg.dev", "",
	} {
		for _, c := range []provider.Cloud{provider.AWS, provider.Azure, provider.GCP, "other"} {
			if _, err := e.Registry(t.Context(), of(c, ""), host); err == nil {
				t.Errorf("%s has credentials for %q", c, host)
			}
		}
	}
	for _, url := range []string{
		"https://evil.example/x", "http://dev.azure.com/x", "https://dev.azure.com.evil.example/x", "https://evilvisualstudio.com/x", "http://git-codecommit.eu-west-1.amazonaws.com/x",
		"https://git-codecommit.eu-west-1.amazonaws.com.evil.example/x", "https://me@git-codecommit.eu-west-1.amazonaws.com/x", "ssh://git@dev.azure.com/x", "%",
	} {
		for _, c := range []provider.Cloud{provider.AWS, provider.Azure, provider.GCP} {
			if _, err := e.Git(t.Context(), of(c, ""), url); err == nil {
				t.Errorf("%s has credentials for %q", c, url)
			}
		}
	}
	for _, host := range []string{"evil.example", "acme.blob.core.windows.net.evil.example", ".blob.core.windows.net", "acme.blob.core.windows.net:8080"} {
		if _, err := e.BlobToken(t.Context(), of(provider.Azure, ""), host); err == nil {
			t.Errorf("a token for %q", host)
		}
	}
	if _, err := e.AWS(t.Context(), of(provider.AWS, ""), "evil.example/#"); err == nil {
		t.Error("keys for a region that is a host")
	}
	if _, err := e.PrincipalToken(t.Context(), cloud.ServicePrincipal{Tenant: "t", Client: "c", Secret: "s", Authority: "https://evil.example"}); err == nil {
		t.Error("a secret was sent elsewhere")
	}
	if asked := clouds.Requests(); len(asked) > 0 {
		t.Errorf("requests: %v", asked)
	}
}

func TestARefusedExchangeSaysWhy(t *testing.T) {
	allow(t)
	a := everyone()
	a["apps/other"] = a["apps/reader"]
	e := exchange(a)
	for c, text := range map[provider.Cloud]string{
		provider.AWS:   `the identity of ServiceAccount apps/other at AWS: the Security Token Service of AWS answers 403 Forbidden; it says "AccessDenied Not authorized to perform sts:*** with ***"`,
		provider.Azure: `Microsoft Entra ID answers 401 Unauthorized; it says "invalid_client AADSTS70025: The client has no configured federated identity`,
		provider.GCP:   `the Security Token Service of Google Cloud answers 400 Bad Request; it says "invalid_grant The audience in ID Token does not match`,
	} {
		_, err := e.Registry(t.Context(), of(c, "other"), map[provider.Cloud]string{provider.AWS: ecrHost, provider.Azure: acrHost, provider.GCP: garHost}[c])
		wants(t, err, text)
		_, err = e.Registry(t.Context(), of(c, "nobody"), ecrHost)
		wants(t, err, "apps/nobody")
	}
	for _, c := range []struct {
		cloud            provider.Cloud
		annotation, text string
	}{
		{provider.AWS, "eks.amazonaws.com/role-arn", "is no ARN of a role"}, {provider.Azure, "azure.workload.identity/tenant-id", "is no ID"},
		{provider.Azure, "azure.workload.identity/client-id", "is no ID"}, {provider.GCP, "iam.gke.io/gcp-service-account", "is no address of a service account"},
		{provider.GCP, "gcp.auth.fluxcd.io/workload-identity-provider", "is no provider"},
	} {
		a := everyone()
		a["apps/reader"][c.annotation] = "../evil.example?x=#"
		_, err := exchange(a).Registry(t.Context(), of(c.cloud, "reader"), map[provider.Cloud]string{provider.AWS: ecrHost, provider.Azure: acrHost, provider.GCP: garHost}[c.cloud])
		wants(t, err, c.text)
	}
	_, err := exchange(nil, "AWS_EC2_METADATA_DISABLED=true").Registry(t.Context(), of(provider.AWS, ""), ecrHost)
	wants(t, err, "the identity of the controller at AWS: the controller's pod has no identity at AWS")
	_, err = exchange(nil, "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://evil.example/v1").Registry(t.Context(), of(provider.AWS, ""), ecrHost)
	wants(t, err, "neither https nor an address of this machine")
}

// TestAClusterOfGKENeedsNoProvider: the pool is that of the cluster that the metadata service names.
func TestAClusterOfGKENeedsNoProvider(t *testing.T) {
	allow(t)
	a := everyone()
	delete(a["apps/reader"], "gcp.auth.fluxcd.io/workload-identity-provider")
	token, err := exchange(a, "GCE_METADATA_HOST="+strings.TrimPrefix(clouds.Plain, "http://")).GoogleToken(t.Context(), of(provider.GCP, "reader"))
	if err != nil || clouds.ScopeOf(token) != cloudtest.GoogleAccount {
		t.Errorf("%q, %v", clouds.ScopeOf(token), err)
	}
}

func TestARepositoryOfACloudHasACredential(t *testing.T) {
	allow(t)
	e := exchange(everyone())
	got, err := e.Git(t.Context(), of(provider.Azure, "reader"), "https://dev.azure.com/acme/apps/_git/apps")
	if err != nil || clouds.ScopeOf(got.Token) != "499b84ac-1321-427f-aa17-267ca6975798" {
		t.Errorf("Azure DevOps: %q, %v", clouds.ScopeOf(got.Token), err)
	}
	got, err = e.Git(t.Context(), of(provider.AWS, "reader"), "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/apps")
	if err != nil {
		t.Fatal(err)
	}
	if fault := cloudtest.CommitFault(got.User, got.Password, "/v1/repos/apps"); fault != "" {
		t.Error("CodeCommit: " + fault)
	}
}
