package remote

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAClusterSecretHoldsValuesAlone(t *testing.T) {
	const server = "https://there.example:6443"
	for _, text := range []string{"", "{}", `{"bearerToken": "canary", "tlsClientConfig": {"serverName": "there", "caData": "YQ=="}, "awsAuthConfig": null}`} {
		if k, err := parseConnection(server, []byte(text)); err != nil || k.Server() != server {
			t.Errorf("%q: %v, %v", text, k.Server(), err)
		}
	}
	for _, c := range []struct{ server, text, want string }{
		{server, `{"tlsClientConfig": {"insecure": true}}`, "tlsClientConfig.insecure is refused: the server's certificate is verified"},
		{server, `{"execProviderConfig": {"command": "canary"}}`, "execProviderConfig is refused: no program is run"},
		{server, `{"awsAuthConfig": {"clusterName": "canary"}}`, "awsAuthConfig is refused"},
		{server, `{"proxyUrl": "http://canary"}`, "proxyUrl is refused"},
		{server, `{"tlsClientConfig": {"certData": "YQ=="}}`, "want both or neither"},
		{server, `{"bearerToken": ["canary"]}`, "key config is not the JSON"},
		{server, "canary", "key config is not the JSON"},
		{"http://canary", "{}", "server of its cluster is not https"},
		{"https://canary@there.example", "{}", "holds more than"},
		{"", "{}", "server of its cluster is no URL"},
	} {
		_, err := parseConnection(c.server, []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v, want %q", c.server, c.text, err, c.want)
		} else if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: a value is in the error: %v", c.text, err)
		}
	}
}

func FuzzParseConnection(f *testing.F) {
	f.Add("https://there.example", []byte(`{"bearerToken": "a", "tlsClientConfig": {"caData": "YQ=="}}`))
	f.Fuzz(func(t *testing.T, server string, text []byte) {
		if k, err := parseConnection(server, text); err == nil && utf8.ValidString(server) && k.Server() != server {
			t.Errorf("the server is %q, want %q", k.Server(), server)
		}
	})
}
