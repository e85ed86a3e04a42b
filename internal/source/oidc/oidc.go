// Package oidc answers: did this issuer of OpenID Connect sign this token, for this audience, and does it hold now?
//
// In: a token; the issuer and the audience that are wanted.
// Out: the claims of the token; ErrRefused for one that proves nothing, any other error where the issuer's keys could not be read.
// Promise: only the wanted issuer is asked, without redirects, within limits of size and time, and not more often than its keys need; keys are in
// memory for an hour at most; the algorithms are asymmetric ones; no token is in an error.
// Not here: which claims a sender must have (controller/webhooks).
package oidc

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v4"

	"github.com/truce-gitops/truce/internal/source/egress"
)

// ErrRefused is returned for a token that does not show what was wanted. Its text, with what it is wrapped in, may be shown to the sender.
var ErrRefused = errors.New("the token is refused")

// refused is ErrRefused with its cause.
func refused(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRefused}, args...)...)
}

const (
	longestToken = 16 << 10
	// leeway is how much clocks may differ.
	leeway = time.Minute
	// mostIssuers bounds the issuers in memory; with one more, all are forgotten.
	mostIssuers = 200
)

// algorithms are the asymmetric ones of RFC 7518, and EdDSA: with a symmetric one, a public key would be a secret.
var algorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// Verifier verifies tokens. It may be used concurrently; its fields do not change.
type Verifier struct {
	// Servers are those that may be connected to.
	Servers egress.Policy

	mu      sync.Mutex
	issuers map[string]*issuer
}

// Issuer returns whom a token names as its issuer. It is not verified, and chooses among those that are wanted; empty for what is no token.
func Issuer(token string) string {
	parts := strings.Split(token, ".")
	if len(token) > longestToken || len(parts) != 3 {
		return ""
	}
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	var claims struct {
		Issuer string `json:"iss"`
	}
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return ""
	}
	return claims.Issuer
}

// Verify returns the claims of a token of an issuer for an audience.
func (v *Verifier) Verify(ctx context.Context, token, issuer, audience string) (map[string]any, error) {
	if len(token) > longestToken {
		return nil, refused("it is longer than %d bytes", longestToken)
	}
	k := &keyFinder{ctx: ctx, of: v.issuer(issuer)}
	claims := jwt.MapClaims{}
	parser := jwt.NewParser(jwt.WithValidMethods(algorithms), jwt.WithoutClaimsValidation())
	if _, err := parser.ParseWithClaims(token, claims, k.find); err != nil {
		if k.unavailable != nil {
			return nil, k.unavailable
		}
		return nil, refused("%s", whyInvalid(err))
	}
	return claims, checkClaims(claims, issuer, audience, time.Now())
}

// whyInvalid says what is wrong with a token, without anything of it.
func whyInvalid(err error) string {
	var invalid *jwt.ValidationError
	var unknown unknownKeyError
	switch {
	case errors.As(err, &unknown):
		return unknown.Error()
	case errors.As(err, &invalid) && invalid.Errors&jwt.ValidationErrorSignatureInvalid != 0:
		return "its signature, or its algorithm, is not one of the issuer's"
	}
	return "it is no JSON web token"
}

func (v *Verifier) issuer(url string) *issuer {
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := v.issuers[url]; i != nil {
		return i
	}
	if v.issuers == nil || len(v.issuers) >= mostIssuers {
		v.issuers = map[string]*issuer{}
	}
	i := &issuer{url: url, servers: v.Servers, turn: make(chan struct{}, 1)}
	v.issuers[url] = i
	return i
}

// keyFinder finds the key of one token.
type keyFinder struct {
	ctx         context.Context // of the one verification
	of          *issuer
	unavailable error // why the keys could not be read
}

// find implements jwt.Keyfunc.
func (k *keyFinder) find(t *jwt.Token) (any, error) {
	if _, critical := t.Header["crit"]; critical {
		return nil, unknownKeyError("it has critical headers")
	}
	id, _ := t.Header["kid"].(string)
	found, err := k.of.key(k.ctx, id, t.Method.Alg())
	if unknown := unknownKeyError(""); err != nil && !errors.As(err, &unknown) {
		k.unavailable = err
	}
	return found, err
}

// unknownKeyError says why no key of the issuer can have signed a token.
type unknownKeyError string

// Error implements error.
func (e unknownKeyError) Error() string { return string(e) }

// checkClaims checks the claims that every token has (OpenID Connect Core, 3.1.3.7).
func checkClaims(claims map[string]any, issuer, audience string, now time.Time) error {
	end, ends := claims["exp"].(float64)
	switch {
	case claims["iss"] != issuer:
		return refused("its issuer is another one")
	case !hasAudience(claims["aud"], audience):
		return refused("its audience is not %q", audience)
	case !ends:
		return refused("it has no end (exp)")
	case now.Add(-leeway).After(numericDate(end)):
		return refused("it has expired")
	}
	for _, name := range []string{"nbf", "iat"} {
		at, is := claims[name].(float64)
		if claims[name] != nil && (!is || numericDate(at).After(now.Add(leeway))) {
			return refused("it is not valid yet (%s)", name)
		}
	}
	return nil
}

// numericDate returns the time of a number of seconds.
func numericDate(seconds float64) time.Time { return time.Unix(int64(min(max(seconds, 0), 1e12)), 0) }

// hasAudience reports whether a claim of an audience, a text or a list of them, has the one that is wanted.
func hasAudience(claim any, audience string) bool {
	list, _ := claim.([]any)
	return audience != "" && (claim == any(audience) || slices.Contains(list, any(audience)))
}
