package oci

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/source/tree"
)

const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
)

var manifestTypes = []string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex, dockerManifest, dockerIndex}

// bring verifies the signature of a digest, and fetches its manifest, and the layer, unless that is stored already.
func (s *Store) bring(ctx context.Context, a *artifact, top digest.Digest, spec source.Spec) error {
	verified, err := s.verify(ctx, a, top, spec.Verify)
	if err != nil {
		return err
	}
	manifest, err := a.manifest(ctx, top)
	if err != nil {
		return err
	}
	layer, err := chooseLayer(manifest, spec.MediaType)
	if err != nil {
		return err
	}
	files, err := s.layer(ctx, a, layer, spec.Limits.OrDefault())
	if err != nil {
		return err
	}
	listed, err := files.Tree(ctx, tree.Rules{Ignore: spec.Ignore, All: spec.Whole, Limits: spec.Limits})
	if err != nil {
		return err
	}
	made, _ := time.Parse(time.RFC3339, manifest.Annotations[ocispec.AnnotationCreated]) // optional, and of the zero time otherwise
	a.digest, a.files = top.String(), files
	a.newest = source.Artifact{
		Repository: source.RepositoryOf(spec.URL), Digest: listed.Digest(), Commit: top.Encoded(), Time: made.UTC(), Files: listed,
		Metadata: metadata(manifest.Annotations), Verified: verified,
	}
	return nil
}

// manifest fetches a manifest; of an index, the one for linux/amd64, as Flux does.
func (a *artifact) manifest(ctx context.Context, top digest.Digest) (ocispec.Manifest, error) {
	at := top
	for range 2 {
		var m struct {
			ocispec.Manifest
			Manifests []ocispec.Descriptor `json:"manifests"`
		}
		data, err := a.document(ctx, at)
		if err != nil {
			return m.Manifest, err
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return m.Manifest, transport.Failed(source.PullFailed, "its manifest is no JSON: %w", err)
		}
		if len(m.Manifests) == 0 {
			return m.Manifest, nil
		}
		i := slices.IndexFunc(m.Manifests, func(d ocispec.Descriptor) bool {
			return d.Platform == nil || d.Platform.OS == "linux" && d.Platform.Architecture == "amd64"
		})
		if i < 0 {
			return m.Manifest, transport.Failed(source.PullFailed, "its index has no manifest for linux/amd64")
		}
		at = m.Manifests[i].Digest
	}
	return ocispec.Manifest{}, transport.Failed(source.PullFailed, "its index names another index")
}

// document reads a manifest or an index, and checks its digest.
func (a *artifact) document(ctx context.Context, at digest.Digest) ([]byte, error) {
	if !isSupported(at) {
		return nil, transport.Failed(source.PullFailed, "its manifest has a digest of an unknown form")
	}
	_, body, err := a.remote.Manifests().FetchReference(ctx, at.String())
	if err != nil {
		return nil, classify(source.PullFailed, err)
	}
	data, err := drainBody(body, mostMetadata)
	if err != nil {
		return nil, classify(source.PullFailed, err)
	}
	if at.Algorithm().FromBytes(data) != at {
		return nil, transport.Failed(source.PullFailed, "its manifest has another digest than %s", at)
	}
	return data, nil
}

func chooseLayer(m ocispec.Manifest, mediaType string) (ocispec.Descriptor, error) {
	i := slices.IndexFunc(m.Layers, func(d ocispec.Descriptor) bool { return mediaType == "" || d.MediaType == mediaType })
	switch {
	case len(m.Layers) == 0:
		return ocispec.Descriptor{}, transport.Failed(source.LayerFailed, "it has no layers")
	case i < 0:
		return ocispec.Descriptor{}, transport.Failed(source.LayerFailed, "it has no layer of the media type %q", mediaType)
	case !isSupported(m.Layers[i].Digest) || m.Layers[i].Size < 0:
		return ocispec.Descriptor{}, transport.Failed(source.LayerFailed, "its layer has a digest or size of an unknown form")
	}
	return m.Layers[i], nil
}

// layer returns the files of a layer. The name under which they are stored has the repository in it: who asks for a layer has read the manifest of
// that repository.
func (s *Store) layer(ctx context.Context, a *artifact, d ocispec.Descriptor, limits source.Limits) (*pack.Pack, error) {
	name := strings.Join([]string{"oci", a.remote.Reference.Registry, a.remote.Reference.Repository, d.Digest.String()}, " ")
	if stored := s.Packs.Named(name); stored != nil {
		return stored, nil
	}
	if d.Size > limits.Bytes {
		return nil, transport.Failed(source.LimitExceeded, "its layer has %d bytes, and %d may be unpacked", d.Size, limits.Bytes)
	}
	body, err := a.remote.Blobs().Fetch(ctx, d)
	if err != nil {
		return nil, classify(source.PullFailed, err)
	}
	archive := pack.Verified(body, d.Size, d.Digest.Algorithm().Hash(), d.Digest.Encoded())
	files, err := s.Packs.Unpack(ctx, name, archive, limits)
	if err = errors.Join(err, body.Close()); err != nil {
		return nil, classify(source.PullFailed, err)
	}
	return files, nil
}

// The bounds of what is kept of a manifest's annotations: they are written into a status.
const (
	mostAnnotations   = 50
	longestAnnotation = 1 << 10
)

func metadata(given map[string]string) map[string]string {
	if len(given) == 0 {
		return nil
	}
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(given)) {
		if v := given[k]; len(out) < mostAnnotations && len(k)+len(v) <= longestAnnotation {
			out[k] = strings.ToValidUTF8(v, "?")
		}
	}
	return out
}
