package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// How long keys serve, how often they are read at most, and what reading them may cost.
const (
	keysAge    = time.Hour
	pauseShort = 5 * time.Second  // after a failure
	pauseLong  = 30 * time.Second // when a token names a key that is not among those that were just read
	fetchTime  = 10 * time.Second
	mostAnswer = 256 << 10
	mostKeys   = 100
)

// issuer is one with its keys.
type issuer struct {
	url     string
	servers egress.Policy
	turn    chan struct{} // held while the fields below are used

	keys    []publicKey
	read    time.Time // when keys were read
	tried   time.Time
	failure error // of the newest try; nil for none
}

// publicKey is one of a JSON Web Key Set.
type publicKey struct {
	id, algorithm string // empty where they are not said
	key           crypto.PublicKey
}

// key returns the key of an ID that signs by an algorithm. A token without an ID is of the only key that fits.
func (i *issuer) key(ctx context.Context, id, algorithm string) (crypto.PublicKey, error) {
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if time.Since(i.read) > keysAge {
		i.keys = nil
	}
	found, there := i.chosen(id, algorithm)
	if !there && time.Since(i.tried) > i.pause() {
		i.tried = time.Now()
		i.failure = i.refresh(ctx)
		found, there = i.chosen(id, algorithm)
	}
	switch {
	case there:
		return found, nil
	case i.failure != nil:
		return nil, fmt.Errorf("read the keys of the issuer %s: %w", shownHost(i.url), i.failure)
	}
	return nil, unknownKeyError("the issuer has no key by which it may be signed")
}

func (i *issuer) pause() time.Duration {
	if i.failure != nil || i.keys == nil {
		return pauseShort
	}
	return pauseLong
}

func (i *issuer) chosen(id, algorithm string) (crypto.PublicKey, bool) {
	var fit []crypto.PublicKey
	for _, k := range i.keys {
		if maySign(k, algorithm) && (id == "" || k.id == id) {
			fit = append(fit, k.key)
		}
	}
	if len(fit) != 1 {
		return nil, false
	}
	return fit[0], true
}

// maySign reports whether a key may sign by an algorithm.
func maySign(k publicKey, algorithm string) bool {
	if k.algorithm != "" && k.algorithm != algorithm {
		return false
	}
	switch key := k.key.(type) {
	case *rsa.PublicKey:
		return strings.HasPrefix(algorithm, "RS") || strings.HasPrefix(algorithm, "PS")
	case *ecdsa.PublicKey:
		return map[string]int{"ES256": 256, "ES384": 384, "ES512": 521}[algorithm] == key.Curve.Params().BitSize
	case ed25519.PublicKey:
		return algorithm == "EdDSA"
	}
	return false
}

// refresh reads the issuer's configuration, and then its keys (OpenID Connect Discovery, 4). It goes on when the sender of the token has gone: others
// wait for the keys.
func (i *issuer) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), fetchTime, fmt.Errorf("no answer within %s", fetchTime))
	defer cancel()
	client, err := transport.NewClient(transport.Options{Servers: i.servers})
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	client.CheckRedirect = refuseRedirect
	var config struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if err := getJSON(ctx, client, strings.TrimSuffix(i.url, "/")+"/.well-known/openid-configuration", &config); err != nil {
		return err
	}
	at, err := url.Parse(config.Keys)
	switch {
	case config.Issuer != i.url:
		return errors.New("its configuration is that of another issuer")
	case err != nil || at.Host == "" || at.Scheme != "https" && (at.Scheme != "http" || !strings.HasPrefix(i.url, "http://")):
		return errors.New("its configuration has no https:// URL of its keys (jwks_uri)")
	}
	var set struct {
		Keys []jsonKey `json:"keys"`
	}
	if err := getJSON(ctx, client, config.Keys, &set); err != nil {
		return err
	}
	i.keys, i.read = []publicKey{}, time.Now()
	for _, k := range set.Keys[:min(len(set.Keys), mostKeys)] {
		if key := k.public(); key != nil && k.Use != "enc" {
			i.keys = append(i.keys, publicKey{k.ID, k.Algorithm, key})
		}
	}
	return nil
}

var errRedirect = errors.New("it answers with a redirect, which is not followed")

func refuseRedirect(*http.Request, []*http.Request) error { return errRedirect }

// shownHost is what messages have of an address.
func shownHost(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "of a malformed URL"
	}
	return u.Host
}

func getJSON(ctx context.Context, client *http.Client, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return errors.New("the address is malformed")
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "truce")
	answer, err := client.Do(r)
	if at := (*url.Error)(nil); errors.As(err, &at) {
		err = at.Err
	}
	if err != nil {
		return fmt.Errorf("ask %s: %w", r.URL.Host, err)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return fmt.Errorf("read the answer of %s: %w", r.URL.Host, err)
	}
	switch {
	case answer.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %d", r.URL.Host, answer.StatusCode)
	case len(data) > mostAnswer:
		return fmt.Errorf("%s answers more than %d bytes", r.URL.Host, mostAnswer)
	case json.Unmarshal(data, into) != nil:
		return fmt.Errorf("the answer of %s is no JSON of the form that OpenID Connect has", r.URL.Host)
	}
	return nil
}

// jsonKey is a key of a set (RFC 7517, RFC 7518 section 6, RFC 8037).
type jsonKey struct {
	Kind      string `json:"kty"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
	Curve     string `json:"crv"`
	N         string `json:"n"`
	E         string `json:"e"`
	X         string `json:"x"`
	Y         string `json:"y"`
}

// public returns the key; nil for one that is malformed, weak, or of a kind that no algorithm here has.
func (k jsonKey) public() crypto.PublicKey {
	switch k.Kind {
	case "RSA":
		return k.rsaKey()
	case "EC":
		return k.ellipticKey()
	case "OKP":
		if x := decodedPart(k.X); k.Curve == "Ed25519" && len(x) == ed25519.PublicKeySize {
			return ed25519.PublicKey(x)
		}
	}
	return nil
}

// decodedPart returns a part of a key; nil for one that is malformed, or longer than any key has.
func decodedPart(text string) []byte {
	if len(text) > 4096 {
		return nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	return data
}

func (k jsonKey) rsaKey() crypto.PublicKey {
	n, e := new(big.Int).SetBytes(decodedPart(k.N)), new(big.Int).SetBytes(decodedPart(k.E))
	if n.BitLen() < 2048 || n.BitLen() > 8192 || e.BitLen() < 2 || e.BitLen() > 31 || e.Bit(0) == 0 {
		return nil
	}
	return &rsa.PublicKey{N: n, E: int(e.Int64())}
}

func (k jsonKey) ellipticKey() crypto.PublicKey {
	curve, size := elliptic.Curve(nil), 0
	switch k.Curve {
	case "P-256":
		curve, size = elliptic.P256(), 32
	case "P-384":
		curve, size = elliptic.P384(), 48
	case "P-521":
		curve, size = elliptic.P521(), 66
	default:
		return nil
	}
	x, y := decodedPart(k.X), decodedPart(k.Y)
	if len(x) != size || len(y) != size {
		return nil
	}
	key, err := ecdsa.ParseUncompressedPublicKey(curve, append(append([]byte{4}, x...), y...))
	if err != nil { // no point of the curve
		return nil
	}
	return key
}
