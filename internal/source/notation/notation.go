// Package notation answers: does a trust policy accept a signature of this artifact of a registry, as notation signs?
//
// In: a trust policy, the certificates of its trust stores; the descriptor of a manifest, and an envelope, JWS or COSE, with a signature.
// Out: the certificate that signed it, or why the policy does not accept it.
// Promise: an envelope counts only if it is over this very descriptor. What the policy wants is checked as notation checks it: that the chain of certificates
// leads to the trust store, identities, times, and revocation, of which the servers are asked by the given client alone. No plugin is run, no file is read.
// Not here: reading registries, what becomes of an artifact that is not accepted (source/oci).
package notation

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/notaryproject/notation-core-go/revocation"
	"github.com/notaryproject/notation-core-go/revocation/crl"
	"github.com/notaryproject/notation-core-go/revocation/purpose"
	_ "github.com/notaryproject/notation-core-go/signature/cose" // the two forms of an envelope
	_ "github.com/notaryproject/notation-core-go/signature/jws"
	"github.com/notaryproject/notation-go"
	"github.com/notaryproject/notation-go/verifier"
	"github.com/notaryproject/notation-go/verifier/trustpolicy"
	"github.com/notaryproject/notation-go/verifier/truststore"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/truce-gitops/truce/internal/model/panics"
)

// ArtifactType is that of the manifests that hold signatures.
const ArtifactType = "application/vnd.cncf.notary.signature"

// Policy is a trust policy with its trust stores.
type Policy struct {
	document *trustpolicy.Document
	verifier notation.Verifier
}

// answersWithin bounds one question for a revocation.
const answersWithin = 5 * time.Second

// NewPolicy reads a trustpolicy.json, and certificates in PEM, which are in each of its trust stores, as in Flux. The client reaches the servers that know of
// revocations; it is nil where nothing is verified yet.
func NewPolicy(policy, certificates string, client *http.Client) (*Policy, error) {
	var d trustpolicy.Document
	if err := json.Unmarshal([]byte(policy), &d); err != nil {
		return nil, fmt.Errorf("read trustpolicy.json: %w", err)
	}
	for i, p := range d.TrustPolicies {
		if p.SignatureVerification.VerificationLevel == trustpolicy.LevelSkip.Name {
			d.TrustPolicies[i].TrustStores, d.TrustPolicies[i].TrustedIdentities = nil, nil // as in Flux
		}
	}
	trusted, err := parseCertificates(certificates)
	if err != nil {
		return nil, err
	}
	options, err := revocations(client)
	if err != nil {
		return nil, err
	}
	v, err := verifier.NewWithOptions(&d, trusted, nil, options)
	if err != nil {
		return nil, fmt.Errorf("read trustpolicy.json: %w", err)
	}
	return &Policy{&d, v}, nil
}

// revocations asks servers through the client, and through none of the library's own.
func revocations(client *http.Client) (out verifier.VerifierOptions, err error) {
	if client == nil {
		client = &http.Client{}
	}
	bounded := &http.Client{Transport: client.Transport, CheckRedirect: client.CheckRedirect, Timeout: answersWithin}
	lists, err := crl.NewHTTPFetcher(bounded)
	if err != nil {
		return out, err
	}
	options := revocation.Options{OCSPHTTPClient: bounded, CRLFetcher: lists, CertChainPurpose: purpose.CodeSigning}
	if out.RevocationCodeSigningValidator, err = revocation.NewWithOptions(options); err != nil {
		return out, err
	}
	options.CertChainPurpose = purpose.Timestamping
	out.RevocationTimestampingValidator, err = revocation.NewWithOptions(options)
	return out, err
}

// Skips reports whether the policy wants no signature of what a reference names: HOST/REPOSITORY@DIGEST. An error says that no statement of it applies.
func (p *Policy) Skips(reference string) (bool, error) {
	statement, err := p.document.GetApplicableTrustPolicy(reference)
	if err != nil {
		return false, err
	}
	return statement.SignatureVerification.VerificationLevel == trustpolicy.LevelSkip.Name, nil
}

// Verify returns the certificate of the signature in an envelope of a media type; none where the policy accepts what is not authentic.
func (p *Policy) Verify(ctx context.Context, target ocispec.Descriptor, reference, mediaType string, envelope []byte) (by string, err error) {
	defer panics.Recover(&err) // the library's reader of untrusted text
	want := ocispec.Descriptor{MediaType: target.MediaType, Digest: target.Digest, Size: target.Size}
	got, err := p.verifier.Verify(ctx, want, envelope, notation.VerifierVerifyOptions{ArtifactReference: reference, SignatureMediaType: mediaType})
	if err != nil {
		return "", err
	}
	isUnknown := slices.ContainsFunc(got.VerificationResults, func(r *notation.ValidationResult) bool {
		return r.Type == trustpolicy.TypeAuthenticity && r.Error != nil
	})
	if got.EnvelopeContent == nil || len(got.EnvelopeContent.SignerInfo.CertificateChain) == 0 || isUnknown {
		return "", nil
	}
	return fmt.Sprintf("certificate %.200q", got.EnvelopeContent.SignerInfo.CertificateChain[0].Subject.String()), nil
}

// certificates are those of every trust store.
type certificates []*x509.Certificate

var _ truststore.X509TrustStore = certificates(nil)

// GetCertificates implements truststore.X509TrustStore.
func (c certificates) GetCertificates(context.Context, truststore.Type, string) ([]*x509.Certificate, error) {
	return c, nil
}

func parseCertificates(text string) (certificates, error) {
	var out certificates
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("read certificate %d: it is malformed", len(out)+1)
		}
		out = append(out, cert)
	}
	if len(out) == 0 {
		return nil, errors.New("no certificate is in it: want certificates in PEM or DER in keys that end in .crt or .pem")
	}
	return out, nil
}
