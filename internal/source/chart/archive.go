package chart

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// unpackedLimit is Helm's own bound of a chart.
const unpackedLimit = 100 << 20

// archive returns the files of a version of a chart, from the server unless they are stored.
func (s *Store) archive(ctx context.Context, r *repository, spec source.Spec, v version, index string) (source.Artifact, error) {
	at, err := r.addressOf(v)
	if err != nil {
		return source.Artifact{}, err
	}
	digits, err := digestOf(v)
	if err != nil {
		return source.Artifact{}, err
	}
	same := digits
	if same == "" {
		same = index // without a digest, an archive may change with the index
	}
	name := strings.Join([]string{"helm chart", r.wayOf(), at.String(), same}, " ")
	files := s.Packs.Named(name)
	if files == nil || files.Damaged() {
		if files, err = s.download(ctx, r, spec, download{name, at, digits}); err != nil {
			return source.Artifact{}, fmt.Errorf("version %s: %w", v.Version, err)
		}
	}
	listed, err := files.Tree(ctx, tree.Rules{All: true, Limits: spec.Limits})
	if err != nil {
		return source.Artifact{}, err
	}
	if digits == "" {
		digits = strings.TrimPrefix(listed.Digest(), "sha256:")
	}
	return source.Artifact{
		Revision: v.Version + "@sha256:" + digits, Commit: digits, Repository: source.RepositoryOf(spec.URL), Digest: listed.Digest(), Files: listed,
		Time: v.Created.UTC(),
	}, nil
}

// addressOf is where the archive of a version is: the first of its urls, which is relative to the repository's URL or absolute.
func (r *repository) addressOf(v version) (*url.URL, error) {
	if len(v.URLs) == 0 {
		return nil, transport.Failed(source.ChartReference, "the index names no URL of version %s", v.Version)
	}
	at, err := r.base.Parse(v.URLs[0])
	switch {
	case err != nil || at.Host == "" && at.Scheme != "oci" || at.User != nil:
		return nil, transport.Failed(source.ChartReference, "the URL that the index names for version %s is none", v.Version)
	case at.Scheme == "oci":
		return nil, transport.Failed(source.ChartReference, "the index says that version %s is in an OCI registry, at %.200s: name that in a HelmRepository with type: oci", v.Version, v.URLs[0])
	case at.Scheme != "http" && at.Scheme != "https":
		return nil, transport.Failed(source.ChartReference, "the URL that the index names for version %s is neither http:// nor https://", v.Version)
	case r.base.RawQuery != "" && at.RawQuery == "" && r.isOwn(at) && !strings.Contains(v.URLs[0], "://"):
		at.RawQuery = r.base.RawQuery // as Helm does: it may be a token
	}
	return at, nil
}

// digestOf is the SHA-256 that the index names, in hexadecimal digits; empty where it names none.
func digestOf(v version) (string, error) {
	digits := strings.ToLower(strings.TrimPrefix(v.Digest, "sha256:"))
	if raw, err := hex.DecodeString(digits); err != nil || digits != "" && len(raw) != sha256.Size {
		return "", transport.Failed(source.ChartReference, "the digest that the index names for version %s is no SHA-256", v.Version)
	}
	return digits, nil
}

// download is an archive that is to be stored under a name.
type download struct {
	name   string
	at     *url.URL
	digest string
}

func (s *Store) download(ctx context.Context, r *repository, spec source.Spec, d download) (*pack.Pack, error) {
	answer, err := r.getArchive(ctx, d.at, spec.Chart.Elsewhere)
	if err != nil {
		return nil, err
	}
	limits := spec.Limits.OrDefault()
	limits.Bytes = min(limits.Bytes, unpackedLimit)
	var body io.Reader = &limited{from: answer.Body, left: mostArchive}
	if d.digest != "" {
		body = pack.Verified(body, pack.AnySize, sha256.New(), d.digest)
	}
	files, err := s.Packs.Unpack(ctx, d.name, body, limits)
	var list *tree.Error
	if errors.As(err, &list) && list.Reason == source.LayerFailed {
		err = transport.Failed(source.ChartPull, "its archive: %w", list)
	}
	return files, errors.Join(err, answer.Body.Close())
}

func (r *repository) getArchive(ctx context.Context, at *url.URL, elsewhere bool) (*http.Response, error) {
	if elsewhere {
		return r.getElsewhere(ctx, at)
	}
	return r.get(ctx, at, nil)
}

// limited fails where more comes than may.
type limited struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, &tree.Error{Reason: source.LimitExceeded, Err: fmt.Errorf("the archive of a chart has more than %d bytes", mostArchive)}
	}
	return n, err
}
