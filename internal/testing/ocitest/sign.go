package ocitest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"
)

// Signer is a key pair of a test, which signs as cosign does.
type Signer struct {
	Public  string // PEM
	private crypto.Signer
}

// NewSigner makes a key as cosign generate-key-pair does: ECDSA over P-256.
func NewSigner(t testing.TB) Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return SignerOf(t, key)
}

// SignerOf signs with any key.
func SignerOf(t testing.TB, key crypto.Signer) Signer {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return Signer{string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), key}
}

// Signature signs a message: its SHA-256, unless the key is of Ed25519.
func (s Signer) Signature(message []byte) []byte {
	sum := sha256.Sum256(message)
	hash, over := crypto.SHA256, sum[:]
	if _, ok := s.private.Public().(ed25519.PublicKey); ok {
		hash, over = 0, message
	}
	out, err := s.private.Sign(rand.Reader, over, hash)
	if err != nil {
		panic(err) // of a test's own key
	}
	return out
}

// Payload is the simple-signing payload for a digest.
func Payload(digest string) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`, digest)
}

// Statement is what a bundle of cosign signs for a digest.
func Statement(digest, predicate string) []byte {
	return fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`, strings.TrimPrefix(digest, "sha256:"), predicate)
}

// SignPredicate is the type of the statement that is a signature.
const SignPredicate = "https://sigstore.dev/cosign/sign/v1"

const bundleType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// Bundle signs a statement.
func (s Signer) Bundle(statement []byte) []byte {
	type m = map[string]any
	const kind = "application/vnd.in-toto+json"
	message := fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(statement), statement)
	out, err := json.Marshal(m{
		"mediaType": bundleType, "verificationMaterial": m{"publicKey": m{"hint": "hint"}},
		"dsseEnvelope": m{"payload": statement, "payloadType": kind, "signatures": []m{{"sig": s.Signature(message)}}},
	})
	if err != nil {
		panic(err) // of a test's own values
	}
	return out
}

// SignatureLayer is the layer of a signature over a payload.
func (s Signer) SignatureLayer(payload []byte) Layer {
	return Layer{
		MediaType: "application/vnd.dev.cosign.simplesigning.v1+json", Data: payload,
		Annotations: map[string]string{"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(s.Signature(payload))},
	}
}

// BundleLayer is the layer of a bundle.
func BundleLayer(bundle []byte) Layer { return Layer{MediaType: bundleType, Data: bundle} }

// SignTag signs a manifest as cosign does by default up to version 2: under a tag that is made of its digest.
func (r *Registry) SignTag(repository, digest string, by Signer) {
	r.PushLayers(repository, strings.Replace(digest, ":", "-", 1)+".sig", nil, by.SignatureLayer(Payload(digest)))
}

// SignReference signs a manifest as cosign does with --registry-referrers-mode=oci-1-1.
func (r *Registry) SignReference(repository, digest string, by Signer) {
	r.Attach(repository, digest, "application/vnd.dev.cosign.artifact.sig.v1+json", by.SignatureLayer(Payload(digest)))
}

// SignBundle signs a manifest as cosign 3 does.
func (r *Registry) SignBundle(repository, digest string, by Signer) {
	r.Attach(repository, digest, bundleType, BundleLayer(by.Bundle(Statement(digest, SignPredicate))))
}
