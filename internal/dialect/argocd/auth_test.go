package argocd

import (
	"encoding/base64"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/truce-gitops/truce/internal/model/object"
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
		secret("web", "repository", "https://git.example/shop/web"), secret("we", "repository", "https://git.example/shop/we"),
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
		if s := repositorySecrets(address).Choose(all); s != nil {
			got = s.Name()
		}
		if got != want {
			t.Errorf("%s: Secret %q, want %q", address, got, want)
		}
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
