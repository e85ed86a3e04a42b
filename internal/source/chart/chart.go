// Package chart answers: which files does a chart of a Helm repository hold, and what is in the repository's index?
//
// In: a source.Spec of the kind HelmRepository, of an index or of one chart of it by name and version.
// Out: a source.Artifact: the index as it is, or the files of the chart's archive.
// Promise: an index is stored on disk and read as a stream: no more of it than the versions of one chart is in memory. An archive has the digest that
// the index names. Credentials reach the server of the repository's URL alone, unless the Spec says otherwise; the servers alone are reached that the
// policy allows. Where nothing is new, a fetch is one conditional request, and a chart of an index that is named costs none.
// Not here: charts in OCI registries (source/oci), how a server is reached (source/transport), rendering (render/helm).
package chart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/requests"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// Store fetches indexes and charts. It is a source.Fetcher.
type Store struct {
	// Packs keeps the indexes and archives that were fetched.
	Packs *pack.Store
	// Servers are those that may be connected to: repositories, and where their indexes say that archives are.
	Servers egress.Policy

	requests.Table[*repository]
}

var _ source.Fetcher = (*Store)(nil)

// repository is one repository, and the newest index of it. All below turn is guarded by it.
type repository struct {
	turn chan struct{} // held while the index is fetched
	spec source.Spec   // without Chart and Timeout
	base *url.URL
	// own has the credentials, and sends them to the server of base alone. other has none.
	own, other *http.Client

	index    *pack.Pack
	revision string // of index
	content  string // of index, whenever it was made
	etag     string
	modified string // the header Last-Modified of index
}

// Fetch implements source.Fetcher.
func (s *Store) Fetch(ctx context.Context, spec source.Spec) (source.Artifact, error) {
	bounded, cancel := spec.Bound(ctx)
	defer cancel()
	got, err := s.fetch(bounded, spec)
	if err != nil {
		return source.Artifact{}, explain(bounded, ctx, spec, err)
	}
	return got, nil
}

func (s *Store) fetch(ctx context.Context, spec source.Spec) (source.Artifact, error) {
	r, err := s.repository(spec)
	if err != nil {
		return source.Artifact{}, err
	}
	if spec.Chart.Name == "" {
		index, revision, err := s.look(ctx, r)
		if err != nil {
			return source.Artifact{}, err
		}
		return r.artifact(ctx, index, revision)
	}
	index, revision, err := s.indexOf(ctx, r, spec.Chart.Index)
	if err != nil {
		return source.Artifact{}, err
	}
	found, err := chooseVersion(index, spec.Chart)
	if err != nil {
		return source.Artifact{}, err
	}
	return s.archive(ctx, r, spec, found, revision)
}

// repository is the one entry of a repository.
func (s *Store) repository(spec source.Spec) (*repository, error) {
	spec.Chart, spec.Timeout, spec.Ref = source.Chart{}, 0, source.Ref{}
	return s.Of(spec, func() (*repository, error) { return s.connect(spec) })
}

func (s *Store) connect(spec source.Spec) (*repository, error) {
	base, err := url.Parse(spec.URL)
	if err != nil || base.Host == "" || base.User != nil || base.Scheme != "http" && base.Scheme != "https" {
		return nil, transport.Failed(source.URLInvalid, "want an http:// or https:// URL without credentials")
	}
	base.Fragment = ""
	r := &repository{turn: make(chan struct{}, 1), spec: spec, base: base.JoinPath("/")}
	if r.own, err = s.client(spec.Auth, base.Host); err != nil {
		return nil, err
	}
	without := spec.Auth
	without.ClientCert, without.ClientKey = "", ""
	r.other, err = s.client(without, base.Host)
	return r, err
}

// client follows no redirect: who may get credentials is judged for each request.
func (s *Store) client(auth source.Auth, own string) (*http.Client, error) {
	out, err := transport.NewClient(transport.Options{Servers: s.Servers, Auth: auth, Proxy: auth.Proxy, Host: own, MachineRoots: true})
	if err != nil {
		return nil, transport.Failed(source.AuthenticationFailed, "%w", err)
	}
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return out, nil
}

// indexOf returns the index of a revision, where that is stored, or the one that the repository has now.
func (s *Store) indexOf(ctx context.Context, r *repository, revision string) (*pack.Pack, string, error) {
	if revision != "" {
		if p := s.Packs.Named(r.indexName(revision)); p != nil && !p.Damaged() {
			return p, revision, nil
		}
	}
	return s.look(ctx, r)
}

// look asks for the index, and stores it where it is new.
func (s *Store) look(ctx context.Context, r *repository) (*pack.Pack, string, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, "", context.Cause(ctx)
	}
	if r.index != nil {
		r.index = s.Packs.Named(r.indexName(r.revision)) // nil where it is damaged or gone; this counts as a use, so that it stays
	}
	err := r.bringIndex(ctx, s.Packs)
	return r.index, r.revision, err
}

// The names of files, and the bounds of what a server may send: Flux's defaults.
const (
	indexFile   = "index.yaml"
	mostIndex   = 50 << 20
	mostArchive = 10 << 20
)

func (r *repository) bringIndex(ctx context.Context, packs *pack.Store) error {
	header := http.Header{}
	if r.index != nil {
		setIfGiven(header, "If-None-Match", r.etag)
		setIfGiven(header, "If-Modified-Since", r.modified)
	}
	answer, err := r.get(ctx, r.base.JoinPath(indexFile), header)
	if err != nil {
		return fmt.Errorf("fetch the index: %w", err)
	}
	if answer.StatusCode == http.StatusNotModified {
		return answer.Body.Close()
	}
	if err := errors.Join(r.storeIndex(ctx, packs, answer), answer.Body.Close()); err != nil {
		return err
	}
	r.etag, r.modified = answer.Header.Get("ETag"), answer.Header.Get("Last-Modified")
	return nil
}

func setIfGiven(h http.Header, key, value string) {
	if value != "" {
		h.Set(key, value)
	}
}

// storeIndex stores an index that says something else than the one that is there. One that was only made at another time is not kept.
func (r *repository) storeIndex(ctx context.Context, packs *pack.Store, answer *http.Response) error {
	w, err := packs.NewWriter(source.Limits{Bytes: mostIndex})
	if err != nil {
		return err
	}
	defer w.Discard()
	sum := newIndexSum()
	if err := w.Add(ctx, indexFile, tree.Regular, io.TeeReader(answer.Body, sum)); err != nil {
		return fmt.Errorf("fetch the index: %w", err)
	}
	revision, content := sum.revision(), sum.content()
	if r.index != nil && content == r.content {
		return nil
	}
	p := packs.Named(r.indexName(revision))
	if p == nil || p.Damaged() {
		if p, err = w.Finish(ctx, r.indexName(revision)); err != nil {
			return err
		}
	}
	if err := checkIndex(p); err != nil { // also of one that is there: it may have been refused before
		return err
	}
	r.index, r.revision, r.content = p, revision, content
	return nil
}

// wayOf is all by which a server is found and asked. It is a part of the names of what is stored: what another source was given is not taken for this
// source's.
func (r *repository) wayOf() string {
	a := r.spec.Auth
	way := []string{r.base.String(), a.Secret, a.Username, a.CABundle, a.ClientCert, a.Proxy}
	if a.Insecure {
		way = append(way, "insecure")
	}
	if a.Direct {
		way = append(way, "direct")
	}
	return fmt.Sprintf("%q", way)
}

func (r *repository) indexName(revision string) string {
	return strings.Join([]string{"helm index", r.wayOf(), revision}, " ")
}

// artifact is the index by itself.
func (r *repository) artifact(ctx context.Context, index *pack.Pack, revision string) (source.Artifact, error) {
	files, err := index.Tree(ctx, tree.Rules{All: true})
	if err != nil {
		return source.Artifact{}, err
	}
	return source.Artifact{
		Revision: revision, Commit: strings.TrimPrefix(revision, "sha256:"), Repository: source.RepositoryOf(r.spec.URL), Digest: files.Digest(), Files: files,
	}, nil
}
