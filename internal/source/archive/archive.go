// Package archive answers: which files does an archive hold that lies at a URL?
//
// In: a source.Spec of the kind Archive, with the digest of the archive.
// Out: a source.Artifact.
// Promise: the archive has that digest; the servers alone are reached that the policy allows, without any credential. An archive that is stored already
// costs no request.
// Not here: who says which archive it is (dialect), reading archives (source/pack), how a server is reached (source/transport).
package archive

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/truce-gitops/truce/internal/model/redact"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// Store fetches archives. It is a source.Fetcher.
type Store struct {
	// Packs keeps the archives that were fetched.
	Packs *pack.Store
	// Servers are those that may be connected to.
	Servers egress.Policy

	mu     sync.Mutex
	client *http.Client
}

var _ source.Fetcher = (*Store)(nil)

// Fetch implements source.Fetcher.
func (s *Store) Fetch(ctx context.Context, spec source.Spec) (source.Artifact, error) {
	bounded, cancel := spec.Bound(ctx)
	defer cancel()
	got, err := s.fetch(bounded, spec)
	if err == nil {
		return got, nil
	}
	as := source.Error{Op: "fetch", Subject: withoutQuery(spec.URL), Reason: source.ReadFailed, Err: err}
	return source.Artifact{}, transport.Explain(bounded, ctx, as, err.Error(), redact.Known{})
}

// withoutQuery is an address as it may be shown: its query and its user may be permissions.
func withoutQuery(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "archive"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

var errPinned = errors.New("there is one revision of it at a time: another one cannot be fetched")

func (s *Store) fetch(ctx context.Context, spec source.Spec) (source.Artifact, error) {
	if spec.Ref.Name == "" {
		return source.Artifact{}, errPinned
	}
	sum, want, err := digestOf(spec.Ref.Name)
	if err != nil {
		return source.Artifact{}, err
	}
	name := "archive " + spec.URL + " " + spec.Ref.Name
	files := s.Packs.Named(name)
	if files == nil {
		body, err := s.open(ctx, spec.URL)
		if err != nil {
			return source.Artifact{}, err
		}
		limits := spec.Limits.OrDefault()
		files, err = s.Packs.Unpack(ctx, name, pack.Verified(io.LimitReader(body, limits.Bytes), pack.AnySize, sum, want), limits)
		if err = errors.Join(err, body.Close()); err != nil {
			return source.Artifact{}, err
		}
	}
	listed, err := files.Tree(ctx, tree.Rules{Ignore: spec.Ignore, All: spec.Whole, Limits: spec.Limits})
	if err != nil {
		return source.Artifact{}, err
	}
	out := source.Artifact{Revision: spec.Ref.Tag, Repository: source.RepositoryOf(withoutQuery(spec.URL)), Digest: listed.Digest(), Commit: want, Files: listed}
	if spec.Origin != "" {
		out.Metadata = map[string]string{source.OriginRevision: spec.Origin}
	}
	return out, nil
}

// digestOf reads ALGORITHM:DIGITS.
func digestOf(text string) (hash.Hash, string, error) {
	algorithm, digits, _ := strings.Cut(text, ":")
	makers := map[string]func() hash.Hash{"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}
	maker := makers[algorithm]
	if maker == nil {
		return nil, "", fmt.Errorf("its digest %.200q is none of sha256, sha384 and sha512", text)
	}
	sum := maker()
	if raw, err := hex.DecodeString(digits); err != nil || len(raw) != sum.Size() {
		return nil, "", fmt.Errorf("its digest %.200q has the wrong length", text)
	}
	return sum, digits, nil
}

// open begins to download.
func (s *Store) open(ctx context.Context, address string) (io.ReadCloser, error) {
	client, err := s.http()
	if err != nil {
		return nil, err
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || q.URL.Host == "" || q.URL.User != nil || q.URL.Scheme != "http" && q.URL.Scheme != "https" {
		return nil, errors.New("its address is no http:// or https:// URL without credentials")
	}
	q.Header.Set("User-Agent", "truce")
	answer, err := client.Do(q)
	if err != nil {
		return nil, plainError(err)
	}
	if answer.StatusCode != http.StatusOK {
		text := fmt.Sprintf("the server answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
		return nil, errors.Join(errors.New(text), answer.Body.Close())
	}
	return answer.Body, nil
}

func (s *Store) http() (*http.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.client == nil {
		s.client, err = transport.NewClient(transport.Options{Servers: s.Servers})
	}
	return s.client, err
}

const longestMessage = 300

// plainError is an error of net/http without the address, which is reported beside it: a Location in it could hold anything.
func plainError(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	var none redact.Known
	if text := none.Line(err.Error(), longestMessage); text != err.Error() && !egress.IsRefused(err) {
		return errors.New(text)
	}
	return err
}
