package oidc_test

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/oidc"
)

const audience = "truce"

// provider is an issuer of OpenID Connect.
type provider struct {
	*httptest.Server

	mu     sync.Mutex
	keys   []map[string]any
	issuer string // that the configuration names; empty for its own
	other  http.Handler
	asked  int
}

func newProvider(t *testing.T, keys ...map[string]any) *provider {
	t.Helper()
	p := &provider{keys: keys}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	switch {
	case p.other != nil:
		p.other.ServeHTTP(w, r)
	case r.URL.Path == "/.well-known/openid-configuration":
		name := p.issuer
		if name == "" {
			name = p.URL
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": name, "jwks_uri": p.URL + "/keys"})
	case r.URL.Path == "/keys":
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": p.keys})
	default:
		http.NotFound(w, r)
	}
}

// requests returns how many requests have come.
func (p *provider) requests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func (p *provider) add(key map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, key)
}

func text(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// signer signs as RFC 7515 has it, by code that does not verify.
type signer struct {
	id, algorithm string
	key           crypto.Signer
}

func rsaSigner(t *testing.T, id string, bits int) signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return signer{id, "RS256", key}
}

func curveSigner(t *testing.T, id string) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{id, "ES256", key}
}

func edSigner(t *testing.T, id string) signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{id, "EdDSA", key}
}

// public is the key in the form of RFC 7517.
func (s signer) public(t *testing.T) map[string]any {
	t.Helper()
	out := map[string]any{"kid": s.id, "alg": s.algorithm, "use": "sig"}
	switch k := s.key.Public().(type) {
	case *rsa.PublicKey:
		maps.Copy(out, map[string]any{"kty": "RSA", "n": text(k.N.Bytes()), "e": text(big.NewInt(int64(k.E)).Bytes())})
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(out, map[string]any{"kty": "EC", "crv": "P-256", "x": text(point[1:33]), "y": text(point[33:])})
	case ed25519.PublicKey:
		maps.Copy(out, map[string]any{"kty": "OKP", "crv": "Ed25519", "x": text(k)})
	}
	return out
}

func (s signer) token(t *testing.T, claims, header map[string]any) string {
	t.Helper()
	head := map[string]any{"typ": "JWT", "alg": s.algorithm, "kid": s.id}
	maps.Copy(head, header)
	first, err := json.Marshal(head)
	second, err2 := json.Marshal(claims)
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	signed := text(first) + "." + text(second)
	return signed + "." + text(s.sign(t, []byte(signed)))
}

func (s signer) sign(t *testing.T, data []byte) []byte {
	t.Helper()
	sum := sha256.Sum256(data)
	var out []byte
	var err error
	switch k := s.key.(type) {
	case ed25519.PrivateKey:
		return ed25519.Sign(k, data)
	case *ecdsa.PrivateKey:
		a, b, failed := ecdsa.Sign(rand.Reader, k, sum[:])
		if failed != nil {
			t.Fatal(failed)
		}
		return append(a.FillBytes(make([]byte, 32)), b.FillBytes(make([]byte, 32))...)
	default:
		out, err = s.key.Sign(rand.Reader, sum[:], crypto.SHA256)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// claims are those of a good token, with some replaced; nil removes one.
func claims(issuer string, other map[string]any) map[string]any {
	now := time.Now()
	out := map[string]any{"iss": issuer, "aud": audience, "exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "sub": "someone"}
	for name, value := range other {
		if out[name] = value; value == nil {
			delete(out, name)
		}
	}
	return out
}

func verifier() *oidc.Verifier {
	return &oidc.Verifier{Servers: egress.Policy{Allowed: []string{"127.0.0.0/8"}}}
}

func TestATokenOfTheIssuerIsTaken(t *testing.T) {
	all := []signer{rsaSigner(t, "a", 2048), curveSigner(t, "b"), edSigner(t, "c")}
	p := newProvider(t)
	for _, s := range all {
		p.add(s.public(t))
	}
	v := verifier()
	for _, s := range all {
		for _, for_ := range []any{audience, []string{"another", audience}} {
			token := s.token(t, claims(p.URL, map[string]any{"aud": for_, "repository": "org/app"}), nil)
			got, err := v.Verify(t.Context(), token, p.URL, audience)
			if err != nil || got["repository"] != "org/app" || oidc.Issuer(token) != p.URL {
				t.Errorf("%s for %v: %v, %v; issuer %q", s.algorithm, for_, got, err, oidc.Issuer(token))
			}
		}
	}
	if p.requests() != 2 {
		t.Errorf("the issuer was asked %d times, want 2: its configuration and its keys, once", p.requests())
	}
}

func TestATokenThatProvesNothingIsRefused(t *testing.T) {
	good, stranger, weak := rsaSigner(t, "a", 2048), rsaSigner(t, "a", 2048), rsaSigner(t, "weak", 1024)
	p := newProvider(t, good.public(t), weak.public(t))
	v := verifier()
	with := func(other map[string]any) string { return good.token(t, claims(p.URL, other), nil) }
	parts := strings.Split(with(nil), ".")
	symmetric := signer{id: "a", algorithm: "HS256"}
	n, _ := good.public(t)["n"].(string)
	for name, c := range map[string]struct{ token, text string }{
		"another key":          {stranger.token(t, claims(p.URL, nil), nil), "its signature"},
		"a key that is weak":   {weak.token(t, claims(p.URL, nil), nil), "no key"},
		"a key that is not":    {good.token(t, claims(p.URL, nil), map[string]any{"kid": "z"}), "no key"},
		"no signature":         {text([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", "its signature, or its algorithm"},
		"a symmetric one":      {symmetric.hmac(t, claims(p.URL, nil), []byte(n)), "its signature, or its algorithm"},
		"another algorithm":    {good.token(t, claims(p.URL, nil), map[string]any{"alg": "PS256"}), "no key"},
		"critical headers":     {good.token(t, claims(p.URL, nil), map[string]any{"crit": []string{"x"}}), "critical"},
		"other claims":         {parts[0] + "." + text([]byte(`{"sub":"root"}`)) + "." + parts[2], "its signature"},
		"another issuer":       {with(map[string]any{"iss": p.URL + "/"}), "issuer"},
		"another audience":     {with(map[string]any{"aud": "sigstore"}), "audience"},
		"no audience":          {with(map[string]any{"aud": nil}), "audience"},
		"expired":              {with(map[string]any{"exp": time.Now().Add(-2 * time.Minute).Unix()}), "expired"},
		"no end":               {with(map[string]any{"exp": nil}), "no end"},
		"an end that is text":  {with(map[string]any{"exp": "9999999999"}), "no end"},
		"a token of tomorrow":  {with(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "not valid yet"},
		"made tomorrow":        {with(map[string]any{"iat": time.Now().Add(time.Hour).Unix()}), "not valid yet"},
		"no token":             {"s3cret", "no JSON web token"},
		"none":                 {"", "no JSON web token"},
		"one that is too long": {strings.Repeat("a", 17<<10), "longer than"},
	} {
		got, err := v.Verify(t.Context(), c.token, p.URL, audience)
		if !errors.Is(err, oidc.ErrRefused) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, %v, want ErrRefused with %q", name, got, err, c.text)
		}
		if err != nil && len(parts[2]) > 10 && strings.Contains(err.Error(), parts[2][:10]) {
			t.Errorf("%s: a token is in %v", name, err)
		}
	}
	if p.requests() != 2 {
		t.Errorf("the issuer was asked %d times: keys that it has not are looked for once in a while", p.requests())
	}
}

func (s signer) hmac(t *testing.T, claims map[string]any, key []byte) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := text(fmt.Appendf(nil, `{"alg":%q,"kid":%q}`, s.algorithm, s.id)) + "." + text(body)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(signed))
	return signed + "." + text(mac.Sum(nil))
}

func TestAnIssuerThatCannotBeReadIsNoRefusal(t *testing.T) {
	s := curveSigner(t, "a")
	elsewhere := newProvider(t, s.public(t))
	for name, c := range map[string]struct {
		change func(*provider)
		text   string
	}{
		"an error":          {func(p *provider) { p.other = http.NotFoundHandler() }, "answers 404"},
		"a redirect":        {func(p *provider) { p.other = http.RedirectHandler(elsewhere.URL, http.StatusFound) }, "redirect"},
		"another issuer":    {func(p *provider) { p.issuer = elsewhere.URL }, "another issuer"},
		"an endless answer": {func(p *provider) { p.other = endless{} }, "more than"},
		"something else":    {func(p *provider) { p.other = page{} }, "no JSON"},
		"a server that ends": {func(p *provider) {
			p.other = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
		}, "ask 127.0.0.1"},
	} {
		p := newProvider(t, s.public(t))
		c.change(p)
		v := verifier()
		for range 3 {
			_, err := v.Verify(t.Context(), s.token(t, claims(p.URL, nil), nil), p.URL, audience)
			if err == nil || errors.Is(err, oidc.ErrRefused) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %v, want an error with %q", name, err, c.text)
			}
		}
		if n := p.requests(); n > 1 {
			t.Errorf("%s: %d requests for three tokens within seconds", name, n)
		}
	}
	if elsewhere.requests() != 0 {
		t.Error("a redirect was followed")
	}
}

type endless struct{}

func (endless) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("a", 1<<20) + `"}`))
}

type page struct{}

func (page) ServeHTTP(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }

// TestNoMetadataServiceIsAnIssuer: without leave, addresses of the link and of this machine are not asked.
func TestNoMetadataServiceIsAnIssuer(t *testing.T) {
	s := curveSigner(t, "a")
	p := newProvider(t, s.public(t))
	for _, at := range []string{p.URL, "http://169.254.169.254"} {
		_, err := (&oidc.Verifier{}).Verify(t.Context(), s.token(t, claims(at, nil), nil), at, audience)
		if err == nil || !strings.Contains(err.Error(), "allow-source-hosts") {
			t.Errorf("%s: %v", at, err)
		}
	}
	if p.requests() != 0 {
		t.Error("this machine was asked")
	}
}

func FuzzToken(f *testing.F) {
	f.Add("e30.e30.")
	f.Add(text([]byte(`{"alg":"ES256"}`)) + "." + text([]byte(`{"iss":"x"}`)) + ".AA")
	f.Fuzz(func(t *testing.T, token string) {
		oidc.Issuer(token)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got, err := verifier().Verify(ctx, token, "http://127.0.0.1:1", audience); err == nil {
			t.Errorf("%q is taken: %v", token, got)
		}
	})
}

// FuzzKeys: whatever an issuer says of its keys, a token of a stranger is refused, or the keys cannot be read.
func FuzzKeys(f *testing.F) {
	f.Add(`{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`)
	f.Add(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"OKP","crv":"Ed25519","x":"AA"}]}`)
	s := signer{id: "a", algorithm: "EdDSA", key: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}
	f.Fuzz(func(t *testing.T, keys string) {
		p := newProvider(t)
		p.other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				_, _ = w.Write([]byte(keys))
				return
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.URL, "jwks_uri": p.URL + "/keys"})
		})
		itself := strings.Contains(keys, text(s.key.Public().(ed25519.PublicKey))[:8])
		if got, err := verifier().Verify(t.Context(), s.token(t, claims(p.URL, nil), nil), p.URL, audience); err == nil && !itself {
			t.Errorf("with %q: %v", keys, got)
		}
	})
}
