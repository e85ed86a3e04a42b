package git_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/testing/gittest"
)

// claimed checks the claim of an App as GitHub does.
func claimed(key *rsa.PublicKey, header string) bool {
	parts := strings.Split(strings.TrimPrefix(header, "Bearer "), ".")
	if len(parts) != 3 {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	sig, sigErr := base64.RawURLEncoding.DecodeString(parts[2])
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Iat, Exp int64
		Iss      string
	}
	if err != nil || sigErr != nil || json.Unmarshal(text, &claims) != nil || rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], sig) != nil {
		return false
	}
	now := time.Now().Unix()
	return claims.Iss == "4711" && claims.Iat < now && claims.Exp > now && claims.Exp-now <= 600
}

func TestAGitHubAppGetsATokenForEachFetchThatNeedsOne(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	var given atomic.Int64
	life := time.Hour
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !claimed(&key.PublicKey, r.Header.Get("Authorization")) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		switch r.Method + " " + r.URL.Path {
		case "GET /api/v3/orgs/guild/installation", "GET /api/v3/users/smith/installation":
			fmt.Fprint(w, `{"id":42,"account":{"login":"theirs"}}`)
			return
		case "GET /api/v3/orgs/closed/installation":
			http.Error(w, "{}", http.StatusForbidden)
			return
		case "POST /api/v3/app/installations/42/access_tokens":
		default:
			http.NotFound(w, r)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"token":"ghs_%s","expires_at":%q}`, canary, time.Now().Add(life).Format(time.RFC3339))
		given.Add(1)
	}))
	defer api.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}))
	r := gittest.New(t, map[string]string{"a": "1"})
	var revoked atomic.Int64 // how many tokens are worth nothing
	server := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Username: "x-access-token", Password: "ghs_" + canary, Hook: func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		if given.Load() > revoked.Load() {
			return false
		}
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}})
	auth := source.Auth{
		AppID: "4711", AppInstallation: "42", AppURL: api.URL + "/api/v3", AppCABundle: ca,
		AppKey: string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
	}
	s, spec := newStore(t), mainOf(server.URL)
	spec.Auth = auth
	for range 2 {
		fetch(t, s, spec)
	}
	if n := given.Load(); n != 1 {
		t.Errorf("%d tokens for two fetches within its time", n)
	}
	revoked.Store(1)
	refused(t, s, spec, source.AuthenticationFailed)
	fetch(t, s, spec) // by another token
	revoked.Store(0)
	given.Store(1)
	life = time.Minute // it ends too soon to be used again
	s = newStore(t)
	for range 2 {
		fetch(t, s, spec)
	}
	if n := given.Load(); n != 3 {
		t.Errorf("%d tokens, want one more for each fetch", n-1)
	}
	for _, owner := range []string{"guild", "smith"} {
		spec := spec
		spec.Auth.AppInstallation, spec.Auth.AppOwner = "", owner
		fetch(t, newStore(t), spec)
	}
	if n := given.Load(); n != 5 {
		t.Errorf("%d tokens for installations by their owners, want 2", n-3)
	}
	unverified := spec // what holds for the repository's own server does not for the API
	unverified.Auth.AppCABundle, unverified.Auth.CABundle, unverified.Auth.Insecure = "", ca, true
	if text := refused(t, newStore(t), unverified, source.GitOperationFailed); !strings.Contains(text, "certificate") {
		t.Error(text)
	}
	closed := gittest.ServeHTTP(t, r, gittest.HTTPOptions{Username: "x-access-token", Password: "other", Hook: echoCredentials})
	for name, change := range map[string]func(*source.Spec){
		"gives no token": func(s *source.Spec) { s.Auth.AppInstallation = "43" },
		"no installation of the GitHub App 4711 for other: install": func(s *source.Spec) { s.Auth.AppOwner = "other" },
		"for closed: 403 Forbidden":                                 func(s *source.Spec) { s.Auth.AppOwner = "closed" },
		"want an RSA key":                                           func(s *source.Spec) { s.Auth.AppKey = "no key" },
		"rejected the credentials":                                  func(s *source.Spec) { s.URL = closed.URL },
	} {
		spec := spec
		change(&spec)
		if text := refused(t, newStore(t), spec, source.AuthenticationFailed); !strings.Contains(text, name) || strings.Contains(text, canary) {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// echoCredentials says what was sent.
func echoCredentials(_ int, w http.ResponseWriter, r *http.Request) bool {
	_, password, _ := r.BasicAuth()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, "you sent %s, which is %s\n", r.Header.Get("Authorization"), password)
	return true
}
