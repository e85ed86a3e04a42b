package argocd

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/source"
)

func secret(name, kind, url string) object.Object {
	return object.Object{
		"metadata": map[string]any{"name": name, "labels": map[string]any{secretType: kind}},
		"data":     map[string]any{"url": base64.StdEncoding.EncodeToString([]byte(url))},
	}
}

func TestTheSecretThatSaysMostOfTheAddressIsChosen(t *testing.T) {
	all := []object.Object{
		secret("all", "repo-creds", "https://git.example/"), secret("shop", "repo-creds", "https://git.example/shop"),
		presenting(secret("web", "repository", "https://git.example/shop/web")), presenting(secret("we", "repository", "https://git.example/shop/we")),
		secret("half", "repo-creds", "https://half"), secret("port", "repo-creds", "https://port.example:8443"), secret("scp", "repo-creds", "git@scp.example"),
		secret("registry", "repo-creds", "registry.example/charts"), secret("none", "repo-creds", ""), secret("cluster", "cluster", "https://git.example/shop/cart"),
	}
	for address, want := range map[string]string{
		"https://git.example/shop/web.git": "web", "https://GIT.example/shop/web/": "web", "https://git.example/shop/cart": "shop",
		"https://git.example/other": "all", "https://elsewhere.example/shop/web": "", "https://git.example/shop/webshop": "shop",
		"https://half.example/charts": "", "https://port.example:8443/charts": "port", "https://port.example/charts": "", "https://git.example.evil.example/shop": "",
		"git@scp.example:shop/web.git": "scp", "git@scp.example.evil.example:shop": "", "oci://registry.example/charts": "registry", "registry.example/charts2": "registry",
	} {
		got := ""
		if s := repositorySecrets(address, "default").Choose(all); s != nil {
			got = s.Name()
		}
		if got != want {
			t.Errorf("%s: Secret %q, want %q", address, got, want)
		}
	}
}

// with returns the Secret with more keys.
func with(s object.Object, data map[string]string) object.Object {
	all, _ := s["data"].(map[string]any)
	for key, text := range data {
		all[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return s
}

// presenting returns the Secret with credentials.
func presenting(s object.Object) object.Object {
	return with(s, map[string]string{"username": "u", "password": "p"})
}

// TestASecretOfAProjectIsForItAlone: an Application of another project has the repository's Secret of no project, or that of many repositories.
func TestASecretOfAProjectIsForItAlone(t *testing.T) {
	of := func(name, url, project string) object.Object {
		return with(presenting(secret(name, "repository", url)), map[string]string{"project": project})
	}
	all := []object.Object{
		of("a", "https://git.example/web", "a"), of("b", "https://git.example/web", "b"), of("both", "https://git.example/shop", "a"),
		presenting(secret("open", "repository", "https://git.example/shop")), of("alone", "https://charts.example", "a"),
		secret("template", "repo-creds", "https://git.example"),
	}
	for address, want := range map[string]map[string]string{
		"https://git.example/web":  {"a": "a", "b": "b", "default": "template"},
		"https://git.example/shop": {"a": "both", "b": "open", "default": "open"},
		"https://charts.example":   {"a": "alone", "b": "", "default": ""},
	} {
		for project, want := range want {
			got := ""
			if s := repositorySecrets(address, project).Choose(all); s != nil {
				got = s.Name()
			}
			if got != want {
				t.Errorf("%s, project %s: Secret %q, want %q", address, project, got, want)
			}
		}
	}
}

// TestARepositoryWithoutCredentialsHasThoseOfMany: a repository's own Secret that says only how it is reached does not hide the template with the credentials.
func TestARepositoryWithoutCredentialsHasThoseOfMany(t *testing.T) {
	const address = "https://git.example/web"
	bare := with(secret("bare", "repository", address), map[string]string{"type": "git", "proxy": "http://own.example", "password": ""})
	template := with(secret("template", "repo-creds", "https://git.example"), map[string]string{
		"username": "u", "password": "p", "proxy": "http://proxy.example", "noProxy": "a.example", "type": "helm",
	})
	chosen := repositorySecrets(address, "default").Choose([]object.Object{bare, template})
	got := []string{chosen.Name()}
	for _, key := range []string{"url", "type", "username", "password", "proxy", "noProxy"} {
		got = append(got, secretText(chosen, key))
	}
	if diff := cmp.Diff([]string{"template", address, "git", "u", "p", "http://own.example", "a.example"}, got); diff != "" {
		t.Errorf("both (-want +got):\n%s", diff)
	}
	if got := repositorySecrets(address, "default").Choose([]object.Object{bare}); got.Name() != "bare" {
		t.Errorf("without a template: Secret %q", got.Name())
	}
	for key, text := range map[string]string{
		"username": "u", "bearerToken": "t", "sshPrivateKey": "k", "tlsClientCertData": "c", "githubAppPrivateKey": "k", "useAzureWorkloadIdentity": "true",
	} {
		own := with(secret("own", "repository", address), map[string]string{key: text})
		if got := repositorySecrets(address, "default").Choose([]object.Object{template, own}); got.Name() != "own" || secretText(got, "password") != "" {
			t.Errorf("a Secret with %s: %q, want its own credentials alone", key, got.Name())
		}
	}
}

// TestTheSourceOfAProjectIsItsOwn: what was fetched with the Secret of one project is not handed to another one. The default project's key is that of before.
func TestTheSourceOfAProjectIsItsOwn(t *testing.T) {
	of := func(spec string) app.SourceKey {
		cr := parse(t, "metadata: {namespace: argocd}\nspec: "+spec)
		key := Repositories{}.Source(cr).Key
		if a := (Applications{}).App(cr, policy.Policy{}); a.Source != key && len(a.Parts) == 0 {
			t.Errorf("%s: the app reads %v, the source is %v", spec, a.Source, key)
		}
		return key
	}
	one, two, open := of("{project: a, source: {repoURL: https://git.example/web, path: .}}"), of("{project: b, source: {repoURL: https://git.example/web, path: .}}"),
		of("{project: default, source: {repoURL: https://git.example/web, path: .}}")
	if one == two || one == open || open != of("{source: {repoURL: https://git.example/web, path: .}}") || open.Project != "" || one.String() != open.String() {
		t.Errorf("the keys are %+v, %+v and %+v", one, two, open)
	}
	chart := Repositories{}.Source(ChartOf(object.ID{Namespace: "argocd", Name: "a"}, "https://charts.example", "web", "1.x"))
	if chart.Key.Project != "a" || chart.Key.Namespace != "argocd" {
		t.Errorf("a chart that another one depends on is of %+v", chart.Key)
	}
}

func TestWhatASecretLacksIsSaidWithoutWhatItHolds(t *testing.T) {
	cr := parse(t, "metadata: {namespace: argocd}\nspec: {source: {repoURL: https://git.example/web, path: .}}")
	for name, c := range map[string]struct {
		secret map[string][]byte
		want   string
	}{
		"none":           {nil, ""},
		"password":       {map[string][]byte{"username": []byte("u"), "password": []byte("hush")}, ""},
		"two of a kind":  {map[string][]byte{"password": []byte("hush"), "bearerToken": []byte("hush")}, "bearerToken and password are in it; remove one of them"},
		"half a pair":    {map[string][]byte{"tlsClientCertKey": []byte("hush")}, "want tlsClientCertData and tlsClientCertKey, or none of them"},
		"no known hosts": {map[string][]byte{"sshPrivateKey": []byte("hush")}, "sshKnownHosts is not in it; without it the server cannot be verified (truce does not read argocd-ssh-known-hosts-cm)"},
	} {
		spec, err := Repositories{}.Spec(cr, source.Secrets{Main: c.secret})
		got := ""
		if err != nil {
			got = err.Error()
		}
		want := c.want
		if want != "" {
			want = "read Repository https://git.example/web at HEAD: the Secret of the repository: " + want
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if name == "password" && (spec.Auth.Username != "u" || spec.Auth.Password != "hush") {
			t.Error("the credentials are not presented")
		}
	}
}
