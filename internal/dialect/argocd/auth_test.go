package argocd

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/app"
	"github.com/truce-gitops/truce/internal/model/object"
	"github.com/truce-gitops/truce/internal/model/policy"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/given"
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
		cr := given.Object(t, "metadata: {namespace: argocd}\nspec: "+spec)
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
	const https, ssh = "https://git.example/web", "git@git.example:web.git"
	for name, c := range map[string]struct {
		url    string
		secret map[string]string
		want   string
	}{
		"none":               {https, nil, ""},
		"password":           {https, map[string]string{"username": "u", "password": "hush"}, ""},
		"two of a kind":      {https, map[string]string{"password": "hush", "bearerToken": "hush"}, "bearerToken and password are in it; remove one of them"},
		"half a pair":        {https, map[string]string{"tlsClientCertKey": "hush"}, "want tlsClientCertData and tlsClientCertKey, or none of them"},
		"no known hosts":     {ssh, map[string]string{"sshPrivateKey": "hush"}, "nothing says how the server is verified: ConfigMap argocd-ssh-known-hosts-cm of its namespace has no ssh_known_hosts, and it has no sshKnownHosts"},
		"any host key":       {ssh, map[string]string{"sshPrivateKey": "hush", "insecureIgnoreHostKey": "true"}, ""},
		"a key over HTTPS":   {https, map[string]string{"sshPrivateKey": "hush", "password": "hush"}, ""},
		"half an App":        {https, map[string]string{"githubAppID": "1", "githubAppInstallationID": "2"}, "githubAppPrivateKey is not in it"},
		"an App over HTTP":   {https, map[string]string{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "hush", "githubAppEnterpriseBaseUrl": "http://a.example"}, "want a URL with https:// in githubAppEnterpriseBaseUrl"},
		"an account":         {https, map[string]string{"gcpServiceAccountKey": "hush"}, "gcpServiceAccountKey is not supported: use username and password"},
		"an account besides": {https, map[string]string{"gcpServiceAccountKey": "hush", "password": "hush"}, ""},
		"an identity":        {https, map[string]string{"useAzureWorkloadIdentity": "true"}, "useAzureWorkloadIdentity is not supported: use username and password"},
		"a proxy":            {https, map[string]string{"proxy": "socks5://hush.example"}, "want a URL with http:// or https:// in proxy"},
		"no flag":            {https, map[string]string{"insecure": "hush"}, "want true or false in insecure"},
	} {
		cr := given.Object(t, "metadata: {namespace: argocd}\nspec: {source: {repoURL: \""+c.url+"\", path: .}}")
		in := map[string][]byte{}
		for key, text := range c.secret {
			in[key] = []byte(text)
		}
		spec, err := Repositories{}.Spec(cr, source.Secrets{Main: in})
		got := ""
		if err != nil {
			got = err.Error()
		}
		want := c.want
		if want != "" {
			want = "read " + Repositories{}.Source(cr).Key.String() + ": the Secret of the repository: " + want
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if name == "password" && (spec.Auth.Username != "u" || spec.Auth.Password != "hush") {
			t.Error("the credentials are not presented")
		}
	}
}

// TestHowAServerIsReachedAndVerified: by the settings of Argo CD for its host, and by what the Secret of the repository says besides credentials.
func TestHowAServerIsReachedAndVerified(t *testing.T) {
	settings := map[string]map[string]string{
		"argocd-tls-certs-cm":       {"git.example": "a certificate", "registry.example": "another one"},
		"argocd-ssh-known-hosts-cm": {"ssh_known_hosts": "lines"},
	}
	proxied := map[string]string{"proxy": "http://proxy.example", "noProxy": "other.example, .inner.example,*.far.example, 192.0.2.0/24,git.example:8443"}
	for name, c := range map[string]struct {
		url    string
		secret map[string]string
		reads  string
		want   source.Auth
	}{
		"a host with a certificate":  {url: "https://Git.example:8443/web", reads: "argocd-tls-certs-cm", want: source.Auth{CABundle: "a certificate"}},
		"another host":               {url: "https://git.example.org/web", reads: "argocd-tls-certs-cm"},
		"a registry":                 {url: "registry.example/charts", reads: "argocd-tls-certs-cm", want: source.Auth{CABundle: "another one"}},
		"without TLS":                {url: "http://git.example/web", want: source.Auth{CABundle: "a certificate"}},
		"files of this machine":      {url: "file:///srv/web"},
		"SSH":                        {url: "git@git.example:web", secret: map[string]string{"sshPrivateKey": "k"}, reads: "argocd-ssh-known-hosts-cm", want: source.Auth{Identity: "k", KnownHosts: "lines"}},
		"SSH, by its own lines":      {url: "ssh://git@git.example/web", secret: map[string]string{"sshPrivateKey": "k", "sshKnownHosts": "own"}, reads: "argocd-ssh-known-hosts-cm", want: source.Auth{Identity: "k", KnownHosts: "own"}},
		"SSH without credentials":    {url: "ssh://git@git.example/web", reads: "argocd-ssh-known-hosts-cm"},
		"SSH needs no proxy":         {url: "ssh://git@a.example/web", secret: proxied, reads: "argocd-ssh-known-hosts-cm"},
		"not verified":               {url: "https://a.example/web", secret: map[string]string{"insecure": "true"}, reads: "argocd-tls-certs-cm", want: source.Auth{Insecure: true}},
		"verified":                   {url: "https://a.example/web", secret: map[string]string{"insecure": "false"}, reads: "argocd-tls-certs-cm"},
		"a proxy":                    {url: "https://a.example/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{Proxy: "http://proxy.example"}},
		"no proxy for a host":        {url: "https://other.example/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{Direct: true}},
		"no proxy in a domain":       {url: "https://a.inner.example/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{Direct: true}},
		"no proxy by a pattern":      {url: "https://a.far.example/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{Direct: true}},
		"no proxy in a network":      {url: "https://192.0.2.7/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{Direct: true}},
		"no proxy for this machine":  {url: "https://127.0.0.1/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{Direct: true}},
		"the proxy of all":           {url: "https://other.example/web", secret: map[string]string{"noProxy": "other.example"}, reads: "argocd-tls-certs-cm"},
		"no proxy for a port":        {url: "https://git.example:8443/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{CABundle: "a certificate", Direct: true}},
		"a proxy for another port":   {url: "https://git.example/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{CABundle: "a certificate", Proxy: "http://proxy.example"}},
		"a proxy for a like address": {url: "https://another.example/web", secret: proxied, reads: "argocd-tls-certs-cm", want: source.Auth{Proxy: "http://proxy.example"}},
		"a GitHub App": {
			url: "https://a.example/web", reads: "argocd-tls-certs-cm",
			secret: map[string]string{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "k", "githubAppEnterpriseBaseUrl": "https://a.example/api/v3"},
			want:   source.Auth{AppID: "1", AppInstallation: "2", AppKey: "k", AppURL: "https://a.example/api/v3"},
		},
		"a GitHub App, whose server has another certificate": {
			url: "https://git.example/web", reads: "argocd-tls-certs-cm",
			secret: map[string]string{"githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "k", "githubAppEnterpriseBaseUrl": "https://registry.example/api/v3"},
			want: source.Auth{
				AppID: "1", AppInstallation: "2", AppKey: "k", AppURL: "https://registry.example/api/v3", CABundle: "a certificate", AppCABundle: "another one",
			},
		},
		"a password goes before an App": {
			url: "https://a.example/web", reads: "argocd-tls-certs-cm",
			secret: map[string]string{"password": "p", "githubAppID": "1", "githubAppInstallationID": "2", "githubAppPrivateKey": "k"},
			want:   source.Auth{Username: "git", Password: "p"},
		},
	} {
		cr := given.Object(t, "metadata: {namespace: argocd}\nspec: {source: {repoURL: \""+c.url+"\", path: .}}")
		in := map[string][]byte{}
		for key, text := range c.secret {
			in[key] = []byte(text)
		}
		if got := strings.Join(settingsFor(c.url), " "); got != c.reads {
			t.Errorf("%s: reads %q, want %q", name, got, c.reads)
		}
		got, lack := readAuth(c.url, source.Secrets{Main: in, Settings: settings})
		if got != c.want || lack != "" {
			t.Errorf("%s: not what was expected; it lacks %q", name, lack) // credentials print as ***
		}
		if !slices.Equal(Repositories{}.Source(cr).Settings, settingsFor(c.url)) {
			t.Errorf("%s: the source does not name its settings", name)
		}
	}
}
