package oci

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// reference is the tag or the digest that is asked for.
type reference struct{ tag, digest string }

// String names it in messages.
func (r reference) String() string {
	if r.digest != "" {
		return "digest " + r.digest
	}
	return fmt.Sprintf("tag %q", r.tag)
}

// revision is Flux's form of it.
func (r reference) revision(digest string) string {
	if r.digest != "" {
		return digest
	}
	return r.tag + "@" + digest
}

// defaultTag is Flux's default of spec.ref.
const defaultTag = "latest"

// reference picks the tag or digest of a spec: a digest wins over a range of versions, and that over a tag.
func (a *artifact) reference(ctx context.Context, spec source.Spec) (reference, error) {
	r := spec.Ref
	switch {
	case r.Commit != "":
		return digestReference("sha256:" + r.Commit)
	case r.Name != "":
		return digestReference(r.Name)
	case r.SemVer != "":
		tag, err := a.newestVersion(ctx, spec)
		return reference{tag: tag}, err
	}
	tag := cmp.Or(r.Tag, r.Any, defaultTag)
	if !isTagName(tag) {
		return reference{}, transport.Failed(source.PullFailed, "%q is no tag", tag)
	}
	return reference{tag: tag}, nil
}

var tagForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`)

// longestTag is in bytes (the OCI distribution specification).
const longestTag = 128

func isTagName(text string) bool { return len(text) <= longestTag && tagForm.MatchString(text) }

func digestReference(text string) (reference, error) {
	d, err := digest.Parse(text)
	if err != nil {
		return reference{}, transport.Failed(source.PullFailed, "%q is no digest: want sha256:<64 hexadecimal digits>", text)
	}
	return reference{digest: d.String()}, nil
}

// newestVersion lists the tags, and picks the highest version within the range.
func (a *artifact) newestVersion(ctx context.Context, spec source.Spec) (string, error) {
	versions, filter := spec.Ref.SemVer, spec.Ref.Filter
	within, err := semver.NewConstraint(versions)
	if err != nil {
		return "", transport.Failed(source.ReadFailed, "semver %q: %w", versions, err)
	}
	pattern, err := regexp.Compile(filter)
	if err != nil {
		return "", transport.Failed(source.ReadFailed, "semverFilter %q: %w", filter, err)
	}
	var best *semver.Version
	var tag string
	err = a.remote.Tags(ctx, "", func(page []string) error {
		for _, t := range page {
			v, err := semver.StrictNewVersion(versionOf(t, spec.PlusTags))
			if err != nil || !isTagName(t) || !pattern.MatchString(t) || !within.Check(v) {
				continue
			}
			if best == nil || compareVersions(v, best, t, tag) > 0 {
				best, tag = v, t
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return "", classify(source.ReadFailed, fmt.Errorf("list tags: %w", err))
	case best == nil:
		return "", transport.Failed(source.ReadFailed, "no tag matches semver %q", versions)
	}
	return tag, nil
}

// versionOf is the version that a tag names.
func versionOf(tag string, plusTags bool) string {
	if plusTags {
		tag = strings.ReplaceAll(tag, "_", "+")
	}
	return strings.TrimPrefix(tag, "v")
}

// compareVersions decides between equal versions by their names, so that the answer does not depend on the order of the list.
func compareVersions(a, b *semver.Version, nameA, nameB string) int {
	return cmp.Or(a.Compare(b), cmp.Compare(nameA, nameB))
}

// resolve asks for the digest of a manifest.
func (a *artifact) resolve(ctx context.Context, want reference) (digest.Digest, error) {
	d, err := a.describe(ctx, cmp.Or(want.digest, want.tag))
	return d.Digest, err
}

// describe asks for the digest, size and type of a manifest. It is a HEAD request, and a GET where the registry does not say it in a header.
func (a *artifact) describe(ctx context.Context, name string) (ocispec.Descriptor, error) {
	d, err := a.remote.Manifests().Resolve(ctx, name)
	if err == nil {
		return d, nil
	}
	var refused *errcode.ErrorResponse
	if errors.Is(err, errdef.ErrNotFound) || errors.As(err, &refused) || isUnreachable(err) || ctx.Err() != nil {
		return d, classify(source.PullFailed, err)
	}
	d, body, err := a.remote.Manifests().FetchReference(ctx, name)
	if err != nil {
		return d, classify(source.PullFailed, err)
	}
	return d, body.Close()
}

// isSupported reports whether a digest can be checked here.
func isSupported(d digest.Digest) bool {
	return d.Validate() == nil && slices.Contains([]digest.Algorithm{digest.SHA256, digest.SHA384, digest.SHA512}, d.Algorithm())
}
