package oci

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/truce-gitops/truce/internal/model/signing"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cosign"
	"github.com/truce-gitops/truce/internal/source/keyless"
	"github.com/truce-gitops/truce/internal/source/notation"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// judgeOf returns what a source asks for; nil for nothing.
func (s *Store) judgeOf(ctx context.Context, a *artifact, top digest.Digest, v source.Verification) (judge, error) {
	switch v.By {
	case signing.Unsigned:
		return nil, nil
	case signing.CosignKeys:
		keys, err := cosign.ParseKeys(v.Cosign)
		if err != nil {
			return nil, transport.Failed(source.VerificationError, "Secret %s: %w", v.Secret, err)
		}
		return &cosignJudge{signers: keys, top: top, want: "verified with the keys of Secret " + v.Secret}, nil
	case signing.CosignIdentities:
		signers, err := s.identities(ctx, v)
		if err != nil {
			return nil, err
		}
		return &cosignJudge{signers: signers, top: top, want: "by a trusted identity"}, nil
	case signing.Notation:
		return s.notation(ctx, a, top, v)
	}
	return nil, transport.Failed(source.VerificationError, "it must be signed in an unknown way, %.40q", v.By)
}

// identities reads the identities, and the trusted root by which their certificates are judged.
func (s *Store) identities(ctx context.Context, v source.Verification) (*keyless.Signers, error) {
	text, of := []byte(v.TrustedRoot), "Secret "+v.Secret
	if v.TrustedRoot == "" {
		var err error
		if text, err = s.publicRoot(ctx); err != nil {
			return nil, err
		}
		of = "Sigstore"
	}
	all, err := signing.ParseIdentities(v.Identities)
	if err != nil {
		return nil, transport.Failed(source.VerificationError, "%w", err)
	}
	signers, err := keyless.NewSigners(text, all)
	if err != nil {
		return nil, transport.Failed(source.VerificationError, "%s: %w", of, err)
	}
	return signers, nil
}

// signers verify what cosign stores.
type signers interface {
	VerifyBundle(bundle []byte, digest string) (string, error)
	VerifyPayload(payload []byte, annotations map[string]string, digest string) (string, error)
}

// cosignJudge knows how cosign stores signatures: as layers of a manifest that has a tag made of the digest, or that refers to what is signed.
type cosignJudge struct {
	signers
	top  digest.Digest
	want string // what a signature must be
}

func (c *cosignJudge) tag(top digest.Digest) string {
	return string(top.Algorithm()) + "-" + top.Encoded() + ".sig"
}

func (c *cosignJudge) mayHold(artifactType string) bool {
	return artifactType == "application/vnd.dev.cosign.artifact.sig.v1+json" || strings.HasPrefix(artifactType, cosign.BundleType)
}

func (c *cosignJudge) isSignature(mediaType string) bool {
	return mediaType == "application/vnd.dev.cosign.simplesigning.v1+json" || strings.HasPrefix(mediaType, cosign.BundleType)
}

func (c *cosignJudge) judge(_ context.Context, layer ocispec.Descriptor, content []byte) (string, error) {
	if strings.HasPrefix(layer.MediaType, cosign.BundleType) {
		return c.VerifyBundle(content, c.top.String())
	}
	return c.VerifyPayload(content, layer.Annotations, c.top.String())
}

func (c *cosignJudge) refusal(failed error) error {
	if failed == nil {
		return errors.New("it has no signature of cosign")
	}
	return fmt.Errorf("no signature of it is %s: %w", c.want, failed)
}

// notationJudge knows how notation stores signatures: as the layer of a manifest that refers to what is signed.
type notationJudge struct {
	policy    *notation.Policy
	target    ocispec.Descriptor
	reference string // HOST/REPOSITORY@DIGEST
	secret    string
}

// notation reads a trust policy. There is no judge where the policy wants no signature.
func (s *Store) notation(ctx context.Context, a *artifact, top digest.Digest, v source.Verification) (judge, error) {
	client, err := transport.NewClient(transport.Options{Servers: s.Servers})
	if err != nil {
		return nil, err
	}
	out := &notationJudge{secret: v.Secret, reference: a.remote.Reference.Registry + "/" + a.remote.Reference.Repository + "@" + top.String()}
	if out.policy, err = notation.NewPolicy(v.Policy, v.Certificates, client); err != nil {
		return nil, transport.Failed(source.VerificationError, "Secret %s: %w", v.Secret, err)
	}
	skipped, err := out.policy.Skips(out.reference)
	switch {
	case err != nil:
		return nil, transport.Failed(source.VerificationError, "Secret %s: %w", v.Secret, err)
	case skipped:
		return nil, nil
	}
	if out.target, err = a.describe(ctx, top.String()); err != nil {
		return nil, err
	}
	return out, nil
}

func (n *notationJudge) tag(digest.Digest) string { return "" }

func (n *notationJudge) mayHold(artifactType string) bool {
	return artifactType == notation.ArtifactType
}

func (n *notationJudge) isSignature(mediaType string) bool {
	return mediaType == "application/jose+json" || mediaType == "application/cose"
}

func (n *notationJudge) judge(ctx context.Context, layer ocispec.Descriptor, content []byte) (string, error) {
	return n.policy.Verify(ctx, n.target, n.reference, layer.MediaType, content)
}

func (n *notationJudge) refusal(failed error) error {
	if failed == nil {
		return errors.New("it has no signature of notation")
	}
	return fmt.Errorf("the trust policy of Secret %s accepts no signature of it: %w", n.secret, failed)
}
