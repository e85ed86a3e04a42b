package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cosign"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// How cosign stores signatures: as layers of a manifest that has a tag made of the digest, or that refers to what is signed.
const (
	payloadType         = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	signatureArtifact   = "application/vnd.dev.cosign.artifact.sig.v1+json"
	signatureTag        = ".sig"
)

// The bounds of what is looked at.
const (
	mostReferrers  = 500
	mostSignatures = 100
	mostSignature  = 1 << 20 // bytes of a payload or a bundle
)

// verification looks for a signature of one manifest.
type verification struct {
	a      *artifact
	keys   cosign.Keys
	top    digest.Digest
	seen   int
	failed error // why the last signature is none
}

// verify makes sure that a trusted key has signed a manifest, and says which.
func (a *artifact) verify(ctx context.Context, top digest.Digest, v source.Verification) (string, error) {
	if v.Cosign == "" {
		return "", nil
	}
	keys, err := cosign.ParseKeys(v.Cosign)
	if err != nil {
		return "", transport.Failed(source.VerificationError, "Secret %s: %w", v.Secret, err)
	}
	check := &verification{a: a, keys: keys, top: top}
	by, err := check.tagged(ctx)
	if err == nil && by == "" {
		by, err = check.referring(ctx)
	}
	switch {
	case err != nil:
		return "", classify(source.PullFailed, fmt.Errorf("look for its signatures: %w", err))
	case by != "":
		return "verified signature of digest " + top.String() + " with " + by, nil
	case check.failed != nil:
		return "", transport.Failed(source.VerificationError, "no signature of it is verified with the keys of Secret %s: %w", v.Secret, check.failed)
	}
	return "", transport.Failed(source.VerificationError, "it has no signature of cosign")
}

// tagged looks at the manifest with the tag sha256-<digits>.sig.
func (v *verification) tagged(ctx context.Context) (string, error) {
	_, body, err := v.a.remote.Manifests().FetchReference(ctx, string(v.top.Algorithm())+"-"+v.top.Encoded()+signatureTag)
	if errors.Is(err, errdef.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	data, err := drainBody(body, mostMetadata)
	if err != nil {
		return "", err
	}
	return v.layers(ctx, data)
}

// errFound ends a list.
var errFound = errors.New("found")

// referring looks at the manifests that refer to what is signed.
func (v *verification) referring(ctx context.Context) (by string, err error) {
	n := 0
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: v.top}
	err = v.a.remote.Referrers(ctx, subject, "", func(page []ocispec.Descriptor) error {
		if n += len(page); n > mostReferrers {
			return transport.Failed(source.LimitExceeded, "more than %d manifests refer to it", mostReferrers)
		}
		for _, d := range page {
			var err error
			if by, err = v.referrer(ctx, d); err != nil || by != "" {
				return errors.Join(err, errFound)
			}
		}
		return nil
	})
	if by != "" {
		return by, nil
	}
	return "", err
}

// referrer looks at one of those, unless the list says that it holds something else.
func (v *verification) referrer(ctx context.Context, d ocispec.Descriptor) (string, error) {
	unclear := []string{"", ocispec.MediaTypeEmptyJSON, ocispec.MediaTypeImageConfig} // some clients write no more into the index of an older registry
	if d.ArtifactType != signatureArtifact && !strings.HasPrefix(d.ArtifactType, cosign.BundleType) && !slices.Contains(unclear, d.ArtifactType) {
		return "", nil
	}
	data, err := v.a.document(ctx, d.Digest)
	if err != nil {
		return "", err
	}
	return v.layers(ctx, data)
}

// layers looks at the signatures that a manifest holds. One that cannot be read is none.
func (v *verification) layers(ctx context.Context, manifest []byte) (string, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		v.failed = errors.New("the manifest of its signatures is no JSON")
		return "", nil
	}
	for _, d := range m.Layers {
		isBundle := strings.HasPrefix(d.MediaType, cosign.BundleType)
		if !isBundle && d.MediaType != payloadType {
			continue
		}
		if v.seen++; v.seen > mostSignatures {
			return "", transport.Failed(source.LimitExceeded, "it has more than %d signatures", mostSignatures)
		}
		content, err := v.content(ctx, d)
		if err != nil {
			return "", err
		}
		by := ""
		if isBundle {
			by, err = v.keys.VerifyBundle(content, v.top.String())
		} else {
			by, err = v.keys.VerifyPayload(content, d.Annotations[signatureAnnotation], v.top.String())
		}
		if err == nil {
			return by, nil
		}
		v.failed = err
	}
	return "", nil
}

// content reads a payload or a bundle, which has the digest that its manifest names.
func (v *verification) content(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	if !isSupported(d.Digest) || d.Size < 0 || d.Size > mostSignature {
		return nil, transport.Failed(source.LimitExceeded, "a signature has a digest or size of an unknown form")
	}
	body, err := v.a.remote.Blobs().Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	data, err := drainBody(body, mostSignature)
	if err != nil {
		return nil, err
	}
	if d.Digest.Algorithm().FromBytes(data) != d.Digest {
		return nil, transport.Failed(source.PullFailed, "a signature has another digest than its manifest says")
	}
	return data, nil
}
