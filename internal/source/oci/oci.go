// Package oci answers: which files does an artifact in an OCI registry hold?
//
// In: a source.Spec of the kind OCI.
// Out: a source.Artifact: the files of one layer of the artifact's manifest.
// Promise: what is read has the digest that the registry named; credentials reach the registry and the token server that it names, and are in no error; the
// servers alone are reached that the policy allows. Where nothing is new, a fetch is one HEAD request.
// Not here: reading archives (source/pack), how a server is reached (source/transport), which Secret holds the credentials (dialect).
package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/keyless"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/requests"
	"github.com/truce-gitops/truce/internal/source/transport"
)

// Store fetches artifacts. It is a source.Fetcher.
type Store struct {
	// Packs keeps the layers that were fetched.
	Packs *pack.Store
	// Servers are those that may be connected to: registries, their token servers, and where they redirect to.
	Servers egress.Policy
	// Clouds gives the logins of registries of clouds; nil for none.
	Clouds *cloud.Exchange
	// Sigstore publishes the trusted root of signatures whose source names none; the zero value is the public instance.
	Sigstore keyless.Mirror

	requests.Table[*artifact]

	mu   sync.Mutex
	root *publicRoot // guarded by mu until it is made
}

var _ source.Fetcher = (*Store)(nil)

// artifact is one request, and the newest answer to it.
type artifact struct {
	turn   chan struct{} // held during a fetch
	client *http.Client
	remote *remote.Repository
	login  cloud.Credential // of a cloud, that remote has

	newest source.Artifact
	digest string // of the manifest of newest
	files  *pack.Pack
}

// Fetch implements source.Fetcher.
func (s *Store) Fetch(ctx context.Context, spec source.Spec) (source.Artifact, error) {
	bounded, cancel := spec.Bound(ctx)
	defer cancel()
	at, err := parseAddress(spec.URL)
	if err != nil {
		return source.Artifact{}, &source.Error{Op: "fetch", Subject: "OCI repository", Reason: source.URLInvalid, Err: err}
	}
	login, err := s.login(bounded, at, spec)
	if err != nil {
		return source.Artifact{}, s.explain(bounded, ctx, spec, err)
	}
	got, err := s.fetch(bounded, at, spec, login)
	if err != nil {
		if isRejected(err) {
			s.Clouds.RejectToken(login.Password)
		}
		if login.User != "" {
			spec.Auth.Username, spec.Auth.Password = login.User, login.Password
		}
		return source.Artifact{}, s.explain(bounded, ctx, spec, err)
	}
	return got, nil
}

// login returns that of an identity of a cloud; the zero value where the source has none.
func (s *Store) login(ctx context.Context, at registry.Reference, spec source.Spec) (cloud.Credential, error) {
	if spec.Auth.Cloud.Cloud == provider.NoCloud {
		return cloud.Credential{}, nil
	}
	return s.Clouds.Registry(ctx, spec.Auth.Cloud, at.Registry)
}

// Prefix is how the URL of an OCI repository begins.
const Prefix = "oci://"

// parseAddress reads oci://HOST/REPOSITORY. The URL is in no error: it may hold anything.
func parseAddress(url string) (registry.Reference, error) {
	text, ok := strings.CutPrefix(url, Prefix)
	if !ok {
		return registry.Reference{}, errors.New("the URL does not begin with " + Prefix)
	}
	at, err := registry.ParseReference(strings.TrimSuffix(text, "/"))
	if err != nil {
		return at, errors.New("the URL is not oci://HOST/REPOSITORY")
	}
	if at.Reference != "" {
		return at, errors.New("the URL names a tag or a digest; name it in spec.ref")
	}
	return at, nil
}

func (s *Store) fetch(ctx context.Context, at registry.Reference, spec source.Spec, login cloud.Credential) (source.Artifact, error) {
	a, err := s.artifact(at, spec)
	if err != nil {
		return source.Artifact{}, err
	}
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return source.Artifact{}, context.Cause(ctx)
	}
	a.use(login)
	got, err := s.look(ctx, a, spec)
	if err != nil && spec.Insecure && !a.remote.PlainHTTP && isPlain(err) {
		a.remote.PlainHTTP = true
		got, err = s.look(ctx, a, spec)
	}
	if err != nil {
		a.remote.PlainHTTP = false // the next poll begins with TLS: the registry may have been away, or may have got a certificate
	}
	return got, err
}

// artifact is the one entry of a request.
func (s *Store) artifact(at registry.Reference, spec source.Spec) (*artifact, error) {
	return s.Of(spec, func() (*artifact, error) {
		client, err := transport.NewClient(transport.Options{Servers: s.Servers, Auth: spec.Auth, Proxy: spec.Auth.Proxy, Host: at.Host(), MachineRoots: true})
		if err != nil {
			return nil, transport.Failed(source.AuthenticationFailed, "%w", err)
		}
		return &artifact{turn: make(chan struct{}, 1), client: client, remote: newRemote(at, spec.Auth, client)}, nil
	})
}

// The bounds of what a registry answers beside contents.
const (
	mostMetadata = 4 << 20 // bytes of a manifest, or of a page of tags
	mostTagPages = 100
)

func newRemote(at registry.Reference, given source.Auth, client *http.Client) *remote.Repository {
	credential := auth.Credential{Username: given.Username, Password: given.Password, RefreshToken: given.RefreshToken, AccessToken: given.BearerToken}
	return &remote.Repository{
		Client: newClient(at, credential, client), Reference: at, TagListPageSize: 1000, TagListMaxPages: mostTagPages, MaxMetadataBytes: mostMetadata,
		ManifestMediaTypes: manifestTypes,
	}
}

func newClient(at registry.Reference, credential auth.Credential, client *http.Client) *auth.Client {
	return &auth.Client{
		Client: client, Header: http.Header{"User-Agent": {"truce"}}, Cache: auth.NewCache(), Credential: auth.StaticCredential(at.Registry, credential),
	}
}

// use makes requests bear another login of a cloud. What was remembered of the former one goes with it: a registry may answer 403 to it, not 401.
func (a *artifact) use(login cloud.Credential) {
	if login == a.login {
		return
	}
	a.login = login
	a.remote.Client = newClient(a.remote.Reference, auth.Credential{Username: login.User, Password: login.Password}, a.client)
}

// look asks for the manifest's digest, and fetches what is new.
func (s *Store) look(ctx context.Context, a *artifact, spec source.Spec) (source.Artifact, error) {
	want, err := a.reference(ctx, spec)
	if err != nil {
		return source.Artifact{}, err
	}
	digest, err := a.resolve(ctx, want)
	if err != nil {
		return source.Artifact{}, fmt.Errorf("%s: %w", want, err)
	}
	if a.digest != digest.String() || !s.Packs.Renew(a.files) {
		if err := s.bring(ctx, a, digest, spec); err != nil {
			return source.Artifact{}, fmt.Errorf("%s: %w", want, err)
		}
	}
	out := a.newest
	out.Revision = want.revision(digest.String())
	return out, nil
}

// drainBody reads a body that is no longer than most.
func drainBody(r io.ReadCloser, most int64) (data []byte, err error) {
	defer func() { err = errors.Join(err, r.Close()) }()
	data, err = io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, transport.Failed(source.LimitExceeded, "the manifest has more than %d bytes", most)
	}
	return data, err
}
