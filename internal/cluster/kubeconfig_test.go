package cluster_test

import (
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/cluster"
)

// inline is a kubeconfig with values alone, as a story of this package changes it.
const inline = `
apiVersion: v1
kind: Config
current-context: there
contexts: [{name: there, context: {cluster: there, user: me}}]
clusters: [{name: there, cluster: {server: "https://there.example:6443"}}]
users: [{name: me, user: {token: canary}}]
`

func TestAKubeconfigOfASecretHoldsValuesAlone(t *testing.T) {
	if k, err := cluster.ParseKubeconfig([]byte(inline)); err != nil || k.Server() != "https://there.example:6443" {
		t.Fatalf("%v, %v", k.Server(), err)
	}
	const user, server = "token: canary", `server: "https://there.example:6443"`
	for _, c := range []struct{ was, is, want string }{
		{user, "exec: {apiVersion: client.authentication.k8s.io/v1, command: canary}", "exec is refused: no program is run"},
		{user, "auth-provider: {name: canary}", "auth-provider is refused: no program is run"},
		{user, "tokenFile: /canary", "tokenFile is refused: no file is read; use token"},
		{user, "token: a, tokenFile: /canary", "tokenFile is refused"},
		{user, "client-certificate: /canary, client-key-data: YQ==", "client-certificate is refused"},
		{user, "client-certificate-data: YQ==, client-key: /canary", "client-key is refused"},
		{user, "client-certificate-data: YQ==", "want both or neither"},
		{user, "as-groups: [canary]", "without as"},
		{server, server + ", certificate-authority: /canary", "certificate-authority is refused: no file is read"},
		{server, server + ", insecure-skip-tls-verify: true", "insecure-skip-tls-verify is refused"},
		{server, server + `, proxy-url: "http://canary"`, "proxy-url is refused"},
		{server, `server: "http://canary"`, "is not https"},
		{server, `server: "https://canary@there.example"`, "holds more than"},
		{server, `server: canary`, "server of its cluster is"},
		{"current-context: there", "current-context: canary", "current-context names no context"},
		{"current-context: there", "", "current-context names no context"},
		{"clusters: [{name: there", "clusters: [{name: canary", "names no cluster"},
		{"users: [{name: me", "users: [{name: canary", "names no user"},
		{inline, "users: canary", "it is no kubeconfig"},
		{inline, "canary", "it is no kubeconfig"},
		{inline, "", "current-context names no context"},
	} {
		text := strings.Replace(inline, c.was, c.is, 1)
		if text == inline {
			t.Fatalf("%q is not in the kubeconfig", c.was)
		}
		_, err := cluster.ParseKubeconfig([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.is, err, c.want)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: a value is in the error: %v", c.is, err)
		}
	}
}

func TestEqualKubeconfigsShareADigest(t *testing.T) {
	parse := func(text string) cluster.Kubeconfig {
		k, err := cluster.ParseKubeconfig([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first, rotated, other := parse(inline), parse(strings.Replace(inline, "canary", "next", 1)), parse(strings.Replace(inline, "there.example", "other.example", 1))
	if first.Digest() != parse(inline).Digest() || first.Digest() == rotated.Digest() {
		t.Error("the digest is not that of the text")
	}
	if first.ServerDigest() != rotated.ServerDigest() || first.ServerDigest() == other.ServerDigest() {
		t.Error("the digest of the server is not that of its address and certificates")
	}
}

func FuzzParseKubeconfig(f *testing.F) {
	f.Add([]byte(inline))
	f.Add([]byte(`{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}]}`))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := cluster.ParseKubeconfig(text)
		if err != nil {
			return
		}
		if !strings.HasPrefix(strings.ToLower(k.Server()), "https://") {
			t.Errorf("connects to %s", k.Server())
		}
		c, err := k.Connect(cluster.RemoteOptions{})
		if err != nil {
			return
		}
		if o := c.Config(); o.Insecure || o.CAFile+o.CertFile+o.KeyFile+o.BearerTokenFile != "" || o.ExecProvider != nil || o.AuthProvider != nil {
			t.Errorf("the connection reads a file, runs a program or trusts any server")
		}
	})
}
