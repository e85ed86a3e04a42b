package oidc

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source/egress"
)

// TestANewKeyIsFoundAndAnOldOneForgotten: an issuer that has other keys is asked again for a key that is not known, but not at once.
func TestANewKeyIsFoundAndAnOldOneForgotten(t *testing.T) {
	var id atomic.Value
	id.Store("old")
	var url string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q}]}`, id.Load(), base64.RawURLEncoding.EncodeToString(make([]byte, ed25519.PublicKeySize)))
			return
		}
		_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, url, url+"/keys")
	}))
	defer server.Close()
	url = server.URL
	i := (&Verifier{Servers: egress.Policy{Allowed: []string{"127.0.0.0/8"}}}).issuer(url)
	has := func(want string, is bool) {
		t.Helper()
		if _, err := i.key(t.Context(), want, "EdDSA"); (err == nil) != is {
			t.Errorf("key %s: %v, want it found: %v", want, err, is)
		}
	}
	has("old", true)
	id.Store("new")
	has("new", false) // the keys were read just now
	i.tried = time.Now().Add(-2 * pauseLong)
	has("new", true)
	has("old", false)
	id.Store("newest")
	i.read = time.Now().Add(-2 * keysAge)
	i.tried = i.read
	has("new", false)
	has("newest", true)
}
