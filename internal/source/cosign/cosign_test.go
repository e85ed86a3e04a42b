package cosign_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/truce-gitops/truce/internal/source/cosign"
	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func keysOf(t testing.TB, all ...string) cosign.Keys {
	t.Helper()
	keys, err := cosign.ParseKeys(strings.Join(all, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

// signersOf are keys of each kind that cosign takes.
func signersOf(t testing.TB) map[string]ocitest.Signer {
	t.Helper()
	out := map[string]ocitest.Signer{}
	add := func(name string, key crypto.Signer, err error) {
		if err != nil {
			t.Fatal(err)
		}
		out[name] = ocitest.SignerOf(t, key)
	}
	for _, curve := range []elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()} {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		add(curve.Params().Name, key, err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	add("RSA", key, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	add("Ed25519", edwards, err)
	return out
}

// signed are the annotations of a payload.
func signed(signature []byte) map[string]string {
	return map[string]string{cosign.SignatureAnnotation: base64Of(signature)}
}

func base64Of(signature []byte) string { return base64.StdEncoding.EncodeToString(signature) }

func TestASignatureOfATrustedKeyIsVerified(t *testing.T) {
	other := ocitest.NewSigner(t)
	for name, s := range signersOf(t) {
		keys := keysOf(t, other.Public, s.Public)
		payload := ocitest.Payload(digest)
		if by, err := keys.VerifyPayload(payload, signed(s.Signature(payload)), digest); err != nil || !strings.HasPrefix(by, "key SHA256:") {
			t.Errorf("%s: payload: %s, %v", name, by, err)
		}
		if by, err := keys.VerifyBundle(s.Bundle(ocitest.Statement(digest, ocitest.SignPredicate)), digest); err != nil || !strings.HasPrefix(by, "key SHA256:") {
			t.Errorf("%s: bundle: %s, %v", name, by, err)
		}
		if _, err := keysOf(t, other.Public).VerifyPayload(payload, signed(s.Signature(payload)), digest); !errors.Is(err, cosign.ErrNotSigned) {
			t.Errorf("%s: a key that is not trusted: %v", name, err)
		}
	}
}

func TestWhatIsNoSignatureOfTheArtifactIsNone(t *testing.T) {
	s := ocitest.NewSigner(t)
	keys := keysOf(t, s.Public)
	another := strings.Replace(digest, "0", "1", 1)
	for what, payload := range map[string][]byte{
		"another artifact":  ocitest.Payload(another),
		"another purpose":   []byte(strings.Replace(string(ocitest.Payload(digest)), "cosign container image signature", "other", 1)),
		"no JSON":           []byte("payload"),
		"no digest":         []byte(`{"critical":{"type":"cosign container image signature"}}`),
		"a signed manifest": []byte(`{"schemaVersion":2}`),
	} {
		if by, err := keys.VerifyPayload(payload, signed(s.Signature(payload)), digest); err == nil {
			t.Errorf("payload, %s: %s", what, by)
		}
	}
	if _, err := keys.VerifyPayload([]byte(`{"critical":{"type":"cosign container image signature"}}`), nil, ""); err == nil {
		t.Error("no signature, no digest")
	}
	payload := ocitest.Payload(digest)
	changed := append([]byte(" "), payload...)
	if _, err := keys.VerifyPayload(changed, signed(s.Signature(payload)), digest); !errors.Is(err, cosign.ErrNotSigned) {
		t.Errorf("a changed payload: %v", err)
	}
	good := ocitest.Statement(digest, ocitest.SignPredicate)
	for what, statement := range map[string][]byte{
		"another artifact": ocitest.Statement(another, ocitest.SignPredicate),
		"an attestation":   ocitest.Statement(digest, "https://spdx.dev/Document"),
		"no subject":       []byte(`{"_type":"https://in-toto.io/Statement/v1","predicateType":"` + ocitest.SignPredicate + `"}`),
		"no statement":     []byte(strings.Replace(string(good), "in-toto.io/Statement", "example.org/Other", 1)),
	} {
		if by, err := keys.VerifyBundle(s.Bundle(statement), digest); err == nil {
			t.Errorf("bundle, %s: %s", what, by)
		}
	}
	for what, change := range map[string]func(m map[string]any){
		"another payload":    func(m map[string]any) { m["payload"] = base64Of(ocitest.Statement(another, ocitest.SignPredicate)) },
		"another type":       func(m map[string]any) { m["payloadType"] = "application/json" },
		"no signature":       func(m map[string]any) { m["signatures"] = []any{} },
		"an empty signature": func(m map[string]any) { m["signatures"] = []any{map[string]any{"sig": ""}} },
	} {
		var b map[string]any
		if err := json.Unmarshal(s.Bundle(good), &b); err != nil {
			t.Fatal(err)
		}
		change(b["dsseEnvelope"].(map[string]any))
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if by, err := keys.VerifyBundle(data, digest); err == nil {
			t.Errorf("bundle, %s: %s", what, by)
		}
	}
}

func TestKeysThatCannotBeTrustedAreRefused(t *testing.T) {
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	weak, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := ocitest.NewSigner(t).Public
	for what, text := range map[string]string{
		"nothing": "", "no PEM": "ssh-ed25519 AAAA", "a private key": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
		"malformed": "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "short RSA": ocitest.SignerOf(t, short).Public, "P-224": ocitest.SignerOf(t, weak).Public,
		"a good one before a bad one": good + "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
	} {
		if keys, err := cosign.ParseKeys(text); err == nil {
			t.Errorf("%s: %d keys", what, len(keys))
		}
	}
}

func FuzzVerify(f *testing.F) {
	trusted, other := ocitest.NewSigner(f), ocitest.NewSigner(f)
	keys := keysOf(f, trusted.Public)
	payload := ocitest.Payload(digest)
	f.Add(payload, base64Of(other.Signature(payload)))
	f.Add(other.Bundle(ocitest.Statement(digest, ocitest.SignPredicate)), "")
	f.Fuzz(func(t *testing.T, data []byte, signature string) {
		if by, err := keys.VerifyPayload(data, map[string]string{cosign.SignatureAnnotation: signature}, digest); err == nil {
			t.Errorf("a forged payload is verified with %s", by)
		}
		if by, err := keys.VerifyBundle(data, digest); err == nil {
			t.Errorf("a forged bundle is verified with %s", by)
		}
	})
}

func FuzzKeys(f *testing.F) {
	f.Add(ocitest.NewSigner(f).Public)
	f.Fuzz(func(t *testing.T, text string) {
		if keys, err := cosign.ParseKeys(text); err == nil && len(keys) == 0 {
			t.Error("no key, and no error")
		}
	})
}
