package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// The bounds of what is looked at.
const (
	mostReferrers  = 500
	mostSignatures = 100
	mostSignature  = 1 << 20 // bytes of a payload, a bundle or an envelope
)

// judge decides about the signatures of one manifest.
type judge interface {
	// tag is where signatures are beside the manifests that refer to what is signed; empty for nowhere.
	tag(top digest.Digest) string
	// mayHold reports whether a manifest with this artifact type may hold signatures.
	mayHold(artifactType string) bool
	// isSignature reports whether a layer of such a manifest is one.
	isSignature(mediaType string) bool
	// judge says who has signed; the empty text, without an error, where the source accepts what is not authentic.
	judge(ctx context.Context, layer ocispec.Descriptor, content []byte) (string, error)
	// refusal is the error where no signature is accepted; failed says why the last one is not, and is nil where there is none.
	refusal(failed error) error
}

// verification looks for a signature of one manifest.
type verification struct {
	judge
	a      *artifact
	top    digest.Digest
	seen   int
	failed error  // why the last signature is none
	by     string // who has signed
}

// verify makes sure that a manifest is signed as a source asks for, and says by whom.
func (s *Store) verify(ctx context.Context, a *artifact, top digest.Digest, v source.Verification) (string, error) {
	by, err := s.judgeOf(ctx, a, top, v)
	if by == nil || err != nil {
		return "", err
	}
	check := &verification{judge: by, a: a, top: top}
	found, err := check.tagged(ctx)
	if err == nil && !found {
		found, err = check.referring(ctx)
	}
	switch {
	case err != nil:
		return "", classify(source.PullFailed, fmt.Errorf("look for its signatures: %w", err))
	case !found:
		return "", &transport.FetchError{Reason: source.VerificationError, Err: by.refusal(check.failed)}
	case check.by == "":
		return "", nil
	}
	return "verified signature of digest " + top.String() + " with " + check.by, nil
}

// tagged looks at the manifest with a tag that is made of the digest.
func (v *verification) tagged(ctx context.Context) (bool, error) {
	name := v.tag(v.top)
	if name == "" {
		return false, nil
	}
	_, body, err := v.a.remote.Manifests().FetchReference(ctx, name)
	if errors.Is(err, errdef.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data, err := drainBody(body, mostMetadata)
	if err != nil {
		return false, err
	}
	return v.layers(ctx, data)
}

// errFound ends a list.
var errFound = errors.New("found")

// referring looks at the manifests that refer to what is signed.
func (v *verification) referring(ctx context.Context) (found bool, err error) {
	n := 0
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: v.top}
	err = v.a.remote.Referrers(ctx, subject, "", func(page []ocispec.Descriptor) error {
		if n += len(page); n > mostReferrers {
			return transport.Failed(source.LimitExceeded, "more than %d manifests refer to it", mostReferrers)
		}
		for _, d := range page {
			var err error
			if found, err = v.referrer(ctx, d); err != nil || found {
				return errors.Join(err, errFound)
			}
		}
		return nil
	})
	if found {
		return true, nil
	}
	return false, err
}

// referrer looks at one of those, unless the list says that it holds something else.
func (v *verification) referrer(ctx context.Context, d ocispec.Descriptor) (bool, error) {
	switch d.ArtifactType {
	case "", ocispec.MediaTypeEmptyJSON, ocispec.MediaTypeImageConfig: // some clients write no more into the index of an older registry
	default:
		if !v.mayHold(d.ArtifactType) {
			return false, nil
		}
	}
	data, err := v.a.document(ctx, d.Digest)
	if err != nil {
		return false, err
	}
	return v.layers(ctx, data)
}

// layers looks at the signatures that a manifest holds. One that cannot be read is none.
func (v *verification) layers(ctx context.Context, manifest []byte) (bool, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		v.failed = errors.New("the manifest of its signatures is no JSON")
		return false, nil
	}
	for _, d := range m.Layers {
		if !v.isSignature(d.MediaType) {
			continue
		}
		if v.seen++; v.seen > mostSignatures {
			return false, transport.Failed(source.LimitExceeded, "it has more than %d signatures", mostSignatures)
		}
		content, err := v.content(ctx, d)
		if err != nil {
			return false, err
		}
		by, err := v.judge.judge(ctx, d, content)
		if err == nil {
			v.by = by
			return true, nil
		}
		v.failed = err
	}
	return false, nil
}

// content reads a signature, which has the digest that its manifest names.
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
