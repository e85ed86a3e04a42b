package stories

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"

	"github.com/truce-gitops/truce/internal/compose"
	"github.com/truce-gitops/truce/internal/testing/gittest"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// issuer starts an issuer of OpenID Connect with the public half of a key, and returns its URL.
func issuer(t *testing.T, key ed25519.PrivateKey) string {
	t.Helper()
	var url string
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			x := base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
			_ = json.NewEncoder(rw).Encode(map[string]any{"keys": []map[string]any{{"kty": "OKP", "crv": "Ed25519", "kid": "a", "x": x}}})
			return
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{"issuer": url, "jwks_uri": url + "/keys"})
	}))
	t.Cleanup(s.Close)
	url = s.URL
	return url
}

// bearer posts a webhook with a token, and returns the answer's status and text.
func (w *world) bearer(url, token, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return w.answer(r)
}

// TestASenderIsKnownByItsToken: a Receiver of the type generic-oidc has no Secret; the issuer's signature and the claims say who may ask, and for what.
func TestASenderIsKnownByItsToken(t *testing.T) {
	w := offWorld(t, configMaps("app", "a"))
	server := gittest.ServeHTTP(t, w.repo, gittest.HTTPOptions{})
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	at := issuer(t, key)
	url := w.takesWebhooks(compose.RunOptions{})
	w.source("repo", "url: "+server.URL+"\ninterval: 1h\nref: {branch: main}")
	w.kustomization("app", "repo", "path: ./app\nprune: true\ninterval: 1h")
	t.Cleanup(w.removeApps)
	w.Apply(t, strings.NewReplacer("NAMESPACE", w.ns, "ISSUER", at).Replace(`
apiVersion: notification.toolkit.fluxcd.io/v1
kind: Receiver
metadata: {name: ci, namespace: NAMESPACE}
spec:
  type: generic-oidc
  oidcProviders:
  - issuerURL: ISSUER
    variables: [{name: owner, expression: "claims.repository.split('/')[0]"}]
    validations: [{expression: "vars.owner == 'org'", message: the repository is not of org}]
  resourceFilter: claims.ref == 'refs/heads/main'
  resources: [{kind: GitRepository, name: repo}]
`))
	w.ready("app")
	hook := url + w.hookPath("ci")
	token := func(by ed25519.PrivateKey, changes jwt.MapClaims) string {
		claims := jwt.MapClaims{"iss": at, "aud": "notification-controller", "exp": time.Now().Add(time.Hour).Unix(), "repository": "org/app", "ref": "refs/heads/main"}
		for name, value := range changes {
			claims[name] = value
		}
		unsigned := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
		unsigned.Header["kid"] = "a"
		text, err := unsigned.SignedString(by)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	stranger := ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", ed25519.SeedSize)))
	for _, c := range []struct {
		token  string
		status int
		text   string
	}{
		{"", 400, "does not match"},
		{"s3cret", 400, "does not match"},
		{token(stranger, nil), 400, "signature"},
		{token(key, jwt.MapClaims{"iss": "https://accounts.google.com"}), 400, "does not match"},
		{token(key, jwt.MapClaims{"aud": "sigstore"}), 400, "audience"},
		{token(key, jwt.MapClaims{"exp": time.Now().Add(-time.Hour).Unix()}), 400, "expired"},
		{token(key, jwt.MapClaims{"repository": "evil/app"}), 400, "the repository is not of org"},
		{token(key, jwt.MapClaims{"ref": "refs/heads/other"}), 200, "requested: 0"},
	} {
		if status, text := w.bearer(hook, c.token, "{}"); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%d %s, want %d %s", status, text, c.status, c.text)
		}
	}
	a := w.Watch(t, configmaps, w.ns, "a")
	w.edit("app/a.yaml", `"k":"a"`, `"k":"pushed"`)
	if status, text := w.bearer(hook, token(key, nil), ""); status != 200 || !strings.Contains(text, "requested: 1") {
		t.Fatalf("%d %s", status, text)
	}
	w.await(a, func(o *unstructured.Unstructured) bool { return value(o, "k") == "pushed" })
}
