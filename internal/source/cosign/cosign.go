// Package cosign answers: did a trusted public key sign this artifact of a registry, as cosign signs?
//
// In: public keys; the digest of a manifest; what cosign has stored beside it: a payload with its signature, or a bundle.
// Out: the key that signed it, or why none of the trusted ones did.
// Promise: pure; a signature counts only if it is over a statement that names this very digest, and that says that it is a signature of an artifact: one
// over an attestation, or over another artifact, counts as none.
// Not here: signatures by certificates and identities (keyless), reading registries, what becomes of an artifact that is not verified (source/oci).
package cosign

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512" // for crypto.Hash
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Keys are the public keys that are trusted.
type Keys []crypto.PublicKey

// ErrNoKeys says that there is no key to trust.
var ErrNoKeys = errors.New("no key is in it: want public keys in PEM in keys that end in .pub")

// ParseKeys reads public keys in PEM, one after the other: ECDSA over a curve of NIST, RSA with 2048 bits at least, Ed25519.
func ParseKeys(text string) (Keys, error) {
	var out Keys
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		key, err := parseKey(block)
		if err != nil {
			return nil, fmt.Errorf("read public key %d: %w", len(out)+1, err)
		}
		out = append(out, key)
	}
	if len(out) == 0 {
		return nil, ErrNoKeys
	}
	return out, nil
}

const leastBits = 2048

func parseKey(block *pem.Block) (crypto.PublicKey, error) {
	var key crypto.PublicKey
	var err error
	switch block.Type {
	case "PUBLIC KEY":
		key, err = x509.ParsePKIXPublicKey(block.Bytes)
	case "RSA PUBLIC KEY":
		key, err = x509.ParsePKCS1PublicKey(block.Bytes)
	default:
		return nil, fmt.Errorf("want PUBLIC KEY, not %.40q", block.Type)
	}
	if err != nil {
		return nil, errors.New("it is malformed")
	}
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.N.BitLen() < leastBits {
			return nil, fmt.Errorf("RSA with %d bits is too short; want %d at least", k.N.BitLen(), leastBits)
		}
	case *ecdsa.PublicKey:
		if k.Curve == elliptic.P224() {
			return nil, errors.New("the curve P-224 is too short")
		}
	case ed25519.PublicKey:
	default:
		return nil, fmt.Errorf("want ECDSA, RSA or Ed25519, not %T", key)
	}
	return key, nil
}

// ErrNotSigned says that a signature is by none of the trusted keys.
var ErrNotSigned = errors.New("it is signed by none of the trusted keys")

// signer returns what identifies the key that has made a signature.
func (k Keys) signer(message, signature []byte) (string, error) {
	i := slices.IndexFunc(k, func(key crypto.PublicKey) bool { return isSignedBy(key, message, signature) })
	if i < 0 {
		return "", ErrNotSigned
	}
	der, err := x509.MarshalPKIXPublicKey(k[i])
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(der)
	return "key SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:]), nil
}

// isSignedBy verifies with the hashes that cosign uses: SHA-256, and for the longer curves that of their size, too.
func isSignedBy(key crypto.PublicKey, message, signature []byte) bool {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return ed25519.Verify(k, message, signature)
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(k, crypto.SHA256, digestOf(crypto.SHA256, message), signature) == nil
	case *ecdsa.PublicKey:
		hashes := []crypto.Hash{crypto.SHA256}
		switch k.Curve {
		case elliptic.P384():
			hashes = append(hashes, crypto.SHA384)
		case elliptic.P521():
			hashes = append(hashes, crypto.SHA512)
		}
		return slices.ContainsFunc(hashes, func(h crypto.Hash) bool { return ecdsa.VerifyASN1(k, digestOf(h, message), signature) })
	}
	return false
}

func digestOf(h crypto.Hash, message []byte) []byte {
	sum := h.New()
	_, _ = sum.Write(message) // a hash takes all
	return sum.Sum(nil)
}

// signatureType is what a simple-signing payload says that it is.
const signatureType = "cosign container image signature"

// SignatureAnnotation is the annotation of a payload that has its signature, in base64.
const SignatureAnnotation = "dev.cosignproject.cosign/signature"

// VerifyPayload verifies a simple-signing payload with its annotations for the digest of a manifest: sha256:…
func (k Keys) VerifyPayload(payload []byte, annotations map[string]string, digest string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(annotations[SignatureAnnotation])
	if err != nil {
		return "", errors.New("its signature is not base64")
	}
	by, err := k.signer(payload, raw)
	if err != nil {
		return "", err
	}
	return by, CheckPayload(payload, digest)
}

// CheckPayload checks that a simple-signing payload which was signed is a signature of a digest.
func CheckPayload(payload []byte, digest string) error {
	var signed struct {
		Critical struct {
			Type  string `json:"type"`
			Image struct {
				Digest string `json:"docker-manifest-digest"`
			} `json:"image"`
		} `json:"critical"`
	}
	if json.Unmarshal(payload, &signed) != nil {
		return errors.New("its payload is no JSON")
	}
	switch {
	case signed.Critical.Type != signatureType:
		return fmt.Errorf("what was signed is no signature of an artifact, but %.80q", signed.Critical.Type)
	case signed.Critical.Image.Digest != digest || digest == "":
		return errAnother
	}
	return nil
}

var errAnother = errors.New("what was signed is another artifact")

// The forms of a bundle.
const (
	// BundleType begins the media types of bundles.
	BundleType = "application/vnd.dev.sigstore.bundle"
	// StatementType is the media type of what a bundle of cosign signs.
	StatementType = "application/vnd.in-toto+json"
	predicateType = "https://sigstore.dev/cosign/sign/v1"
)

// VerifyBundle verifies a bundle of Sigstore with a signed statement, as cosign 3 makes it, for the digest of a manifest: sha256:…
func (k Keys) VerifyBundle(bundle []byte, digest string) (string, error) {
	var b struct {
		MediaType string `json:"mediaType"`
		Envelope  *struct {
			Payload     []byte `json:"payload"`
			PayloadType string `json:"payloadType"`
			Signatures  []struct {
				Sig []byte `json:"sig"`
			} `json:"signatures"`
		} `json:"dsseEnvelope"`
	}
	if json.Unmarshal(bundle, &b) != nil || !strings.HasPrefix(b.MediaType, BundleType) {
		return "", errors.New("it is no bundle of Sigstore")
	}
	e := b.Envelope
	if e == nil || e.PayloadType != StatementType || len(e.Signatures) != 1 {
		return "", errors.New("its bundle holds no statement with one signature")
	}
	by, err := k.signer(preAuthentication(e.PayloadType, e.Payload), e.Signatures[0].Sig)
	if err != nil {
		return "", err
	}
	return by, CheckStatement(e.Payload, digest)
}

// CheckStatement checks that a statement of in-toto which was signed is a signature of a digest.
func CheckStatement(payload []byte, digest string) error {
	var s struct {
		Type      string `json:"_type"`
		Predicate string `json:"predicateType"`
		Subject   []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	if json.Unmarshal(payload, &s) != nil || !strings.HasPrefix(s.Type, "https://in-toto.io/Statement/") {
		return errors.New("its statement is none of in-toto")
	}
	if s.Predicate != predicateType {
		return fmt.Errorf("what was signed is no signature of an artifact, but %.80q", s.Predicate)
	}
	algorithm, digits, _ := strings.Cut(digest, ":")
	if raw, err := hex.DecodeString(digits); err != nil || len(raw) == 0 {
		return errAnother
	}
	for _, subject := range s.Subject {
		if subject.Digest[algorithm] == digits {
			return nil
		}
	}
	return errAnother
}

// preAuthentication is what a signature of DSSE is over.
func preAuthentication(payloadType string, payload []byte) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "DSSEv1 %d %s %d ", len(payloadType), payloadType, len(payload))
	out.Write(payload)
	return out.Bytes()
}
