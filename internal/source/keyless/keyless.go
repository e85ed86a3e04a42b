// Package keyless answers: did a trusted identity sign this artifact of a registry, as cosign signs without a key?
//
// In: the trusted root of a Sigstore instance; the identities that may sign; the digest of a manifest; what cosign has stored beside it: a payload with its
// annotations, or a bundle.
// Out: the identity that signed it, or why none of the trusted ones did.
// Promise: a signature counts only if an authority of the root gave its certificate, if a log of the root has the certificate and another one the signature,
// and if the certificate was valid then; if its subject and issuer match; and if it is over a statement that names this very digest. Nothing is asked of a log.
// Not here: public keys (cosign), reading registries, what becomes of an artifact that is not verified (source/oci).
package keyless

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/fulcio/certificate"
	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/truce-gitops/truce/internal/model/panics"
	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/source/cosign"
)

// Signers are the identities that are trusted.
type Signers struct {
	verifier *verify.Verifier
	policy   []verify.PolicyOption
}

// NewSigners reads a trusted root, which is a trusted_root.json. With no identity, everyone's signature counts.
func NewSigners(trustedRoot []byte, identities []signing.Identity) (*Signers, error) {
	material, err := parseRoot(trustedRoot)
	if err != nil {
		return nil, fmt.Errorf("read the trusted root: %w", err)
	}
	policy, err := policyOf(identities)
	if err != nil {
		return nil, err
	}
	v, err := verify.NewVerifier(material, verify.WithTransparencyLog(1), verify.WithObserverTimestamps(1), verify.WithSignedCertificateTimestamps(1))
	return &Signers{v, policy}, err
}

func policyOf(all []signing.Identity) ([]verify.PolicyOption, error) {
	if len(all) == 0 {
		return []verify.PolicyOption{verify.WithoutIdentitiesUnsafe()}, nil // as in Flux
	}
	var out []verify.PolicyOption
	for i, identity := range all {
		m, err := verify.NewShortCertificateIdentity("", identity.Issuer, "", identity.Subject)
		if err != nil {
			return nil, fmt.Errorf("read identity %d: %w", i+1, err)
		}
		out = append(out, verify.WithCertificateIdentity(m))
	}
	return out, nil
}

func parseRoot(trustedRoot []byte) (_ *root.TrustedRoot, err error) {
	defer panics.Recover(&err) // the library's reader of untrusted text
	return root.NewTrustedRootFromJSON(trustedRoot)
}

// VerifyBundle verifies a bundle of Sigstore with a signed statement, as cosign 3 makes it, for the digest of a manifest: sha256:…
func (s *Signers) VerifyBundle(text []byte, digest string) (by string, err error) {
	defer panics.Recover(&err) // the library's reader of untrusted text
	var b bundle.Bundle
	if err := b.UnmarshalJSON(text); err != nil {
		return "", fmt.Errorf("its bundle is malformed: %w", err)
	}
	envelope := b.GetDsseEnvelope()
	if envelope == nil || envelope.GetPayloadType() != cosign.StatementType || len(envelope.GetSignatures()) != 1 {
		return "", errors.New("its bundle holds no statement with one signature")
	}
	algorithm, digits, _ := strings.Cut(digest, ":")
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return "", err
	}
	if by, err = s.verify(&b, verify.WithArtifactDigest(algorithm, raw)); err != nil {
		return "", err
	}
	return by, cosign.CheckStatement(envelope.GetPayload(), digest)
}

// VerifyPayload verifies a simple-signing payload with its annotations, as cosign 2 makes them, for the digest of a manifest: sha256:…
func (s *Signers) VerifyPayload(payload []byte, annotations map[string]string, digest string) (by string, err error) {
	defer panics.Recover(&err) // the library's reader of untrusted text
	text, err := bundleOf(payload, annotations)
	if err != nil {
		return "", err
	}
	var read protobundle.Bundle
	if err := protojson.Unmarshal(text, &read); err != nil {
		return "", errors.New("its annotations are malformed")
	}
	b, err := bundle.NewBundle(&read)
	if err != nil {
		return "", fmt.Errorf("its annotations are malformed: %w", err)
	}
	if by, err = s.verify(b, verify.WithArtifact(strings.NewReader(string(payload)))); err != nil {
		return "", err
	}
	return by, cosign.CheckPayload(payload, digest)
}

func (s *Signers) verify(b *bundle.Bundle, artifact verify.ArtifactPolicyOption) (string, error) {
	got, err := s.verifier.Verify(b, verify.NewPolicy(artifact, s.policy...))
	var none *verify.ErrNoMatchingCertificateIdentity
	switch {
	case errors.As(err, &none):
		return "", fmt.Errorf("another identity has signed it: %s", signerOf(b))
	case err != nil:
		return "", err
	case got.Signature == nil || got.Signature.Certificate == nil:
		return "", errors.New("it is signed without a certificate")
	}
	return describe(*got.Signature.Certificate), nil
}

// signerOf describes the certificate of a bundle that was verified but for the identity.
func signerOf(b *bundle.Bundle) string {
	content, err := b.VerificationContent()
	if err != nil || content.Certificate() == nil {
		return "it has no certificate"
	}
	summary, err := certificate.SummarizeCertificate(content.Certificate())
	if err != nil {
		return "its certificate names none"
	}
	return describe(summary)
}

func describe(c certificate.Summary) string {
	return fmt.Sprintf("identity %.200q of issuer %.200q", c.SubjectAlternativeName, c.Issuer)
}
