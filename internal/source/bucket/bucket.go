// Package bucket answers: which files does a bucket of an object storage hold: one that speaks as S3 does, of Azure, or of Google Cloud?
//
// In: a source.Spec of the kind ObjectStorage.
// Out: a source.Artifact of the objects that the ignore rules leave; its revision is the digest of their keys and etags.
// Promise: the secret key is sent nowhere, it signs requests; the servers alone are reached that the policy allows, and no redirect is followed. An
// object with the etag of the last fetch is not downloaded again: where nothing is new, a fetch is one list of the keys.
// Not here: how a server is reached (source/transport), how files are stored (source/pack), which Secret holds the credentials (dialect).
package bucket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/truce-gitops/truce/internal/model/provider"
	"github.com/truce-gitops/truce/internal/source"
	"github.com/truce-gitops/truce/internal/source/cloud"
	"github.com/truce-gitops/truce/internal/source/egress"
	"github.com/truce-gitops/truce/internal/source/exclude"
	"github.com/truce-gitops/truce/internal/source/pack"
	"github.com/truce-gitops/truce/internal/source/requests"
	"github.com/truce-gitops/truce/internal/source/sigv4"
	"github.com/truce-gitops/truce/internal/source/transport"
	"github.com/truce-gitops/truce/internal/source/tree"
)

// Store fetches buckets. It is a source.Fetcher.
type Store struct {
	// Packs keeps the objects that were fetched.
	Packs *pack.Store
	// Servers are those that may be connected to: object storages, and services that give credentials for them.
	Servers egress.Policy
	// Clouds gives credentials of identities, and tokens for those of a Secret; nil for none.
	Clouds *cloud.Exchange

	requests.Table[*bucket]
}

var _ source.Fetcher = (*Store)(nil)

// bucket is one request, and the newest answer to it. All below turn is guarded by it.
type bucket struct {
	turn chan struct{} // held during a fetch
	spec source.Spec   // what is asked for; without Ref

	client *client
	ignore ignoreFile
	newest source.Artifact
	files  *pack.Pack
	etags  map[string]string // of the files of newest, by key
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
	b, err := s.bucket(spec)
	if err != nil {
		return source.Artifact{}, err
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return source.Artifact{}, context.Cause(ctx)
	}
	if err := b.look(ctx, s.Packs); err != nil {
		return source.Artifact{}, err
	}
	if spec.Ref != (source.Ref{}) && spec.Ref.Commit != b.newest.Commit {
		return source.Artifact{}, errPinned
	}
	return b.newest, nil
}

var errPinned = errors.New("a bucket holds one revision at a time: another one cannot be fetched")

// bucket is the one entry of a request.
func (s *Store) bucket(spec source.Spec) (*bucket, error) {
	spec.Ref = source.Ref{}
	return s.Of(spec, func() (*bucket, error) {
		c, err := s.connect(spec)
		return &bucket{turn: make(chan struct{}, 1), spec: spec, client: c}, err
	})
}

// connect makes the clients of a bucket, which follow no redirect: what they sign is for one server.
func (s *Store) connect(spec source.Spec) (*client, error) {
	c := &client{clouds: s.Clouds}
	var err error
	switch spec.Bucket.API {
	case provider.GoogleAPI:
		c.other = google{s.Clouds, spec}
	case provider.BlobAPI:
		c.other, err = azureEndpoint(s.Clouds, spec)
	default:
		err = c.speakS3(spec)
	}
	if err != nil {
		return nil, err
	}
	if c.http, err = s.newHTTP(spec.Auth, spec.Auth.Proxy); err != nil {
		return nil, err
	}
	if spec.Bucket.Tokens != "" && spec.Auth.Username == "" && c.issuer.Cloud == provider.NoCloud {
		c.tokens = &tokenService{url: spec.Bucket.Tokens, user: spec.Bucket.User}
		c.tokens.http, err = s.newHTTP(spec.Bucket.User, spec.Auth.Proxy)
	}
	return c, err
}

// speakS3 makes it a client of a storage that speaks as S3 does.
func (c *client) speakS3(spec source.Spec) (err error) {
	c.at, err = addressOf(spec)
	c.fixed, c.static = c.at.region != "", sigv4.Credentials{Key: spec.Auth.Username, Secret: spec.Auth.Password}
	c.issuer = spec.Auth.Cloud
	return err
}

func (s *Store) newHTTP(auth source.Auth, proxy string) (*http.Client, error) {
	out, err := transport.NewClient(transport.Options{Servers: s.Servers, Auth: auth, Proxy: proxy, MachineRoots: true})
	if err != nil {
		return nil, transport.Failed(source.AuthenticationFailed, "%w", err)
	}
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return out, nil
}

// look lists the bucket, and fetches what is new.
func (b *bucket) look(ctx context.Context, packs *pack.Store) error {
	limits := b.spec.Limits.OrDefault()
	all, err := b.client.list(ctx, b.spec.Bucket.Prefix, listFactor*limits.Files)
	if err != nil {
		return err
	}
	if err := b.readIgnoreFile(ctx, all); err != nil {
		return err
	}
	kept, err := b.keep(ctx, all)
	if err != nil {
		return err
	}
	if err := checkObjects(kept, limits); err != nil {
		return err
	}
	commit := indexDigest(kept)
	if b.files != nil && !packs.Renew(b.files) {
		b.files, b.etags, b.newest = nil, nil, source.Artifact{}
	}
	if b.newest.Commit == commit {
		return nil
	}
	name := b.nameOf(commit)
	files := packs.Named(name)
	if files == nil {
		if files, err = b.download(ctx, packs, name, kept); err != nil {
			return err
		}
	}
	listed, err := files.Tree(ctx, tree.Rules{All: true, Limits: b.spec.Limits})
	if err != nil {
		return err
	}
	b.files, b.etags = files, etagsOf(kept)
	b.newest = source.Artifact{
		Revision: "sha256:" + commit, Commit: commit, Repository: source.RepositoryOf(b.spec.URL) + "/" + b.spec.Bucket.Name,
		Digest: listed.Digest(), Files: listed, Time: newestOf(kept),
	}
	return nil
}

// nameOf is the name under which the files of a revision are stored. An etag says nothing about a content by itself, so that the name has all in it by
// which the server was found: what another source was given, by a server that it has chosen, is not taken for this source's.
func (b *bucket) nameOf(commit string) string {
	a := b.spec.Auth
	way := []string{"bucket", b.spec.URL, b.spec.Bucket.Name, a.Secret, a.Username, a.CABundle, a.ClientCert, a.Proxy, b.spec.Bucket.Tokens, b.spec.Bucket.User.Username, commit}
	if in := b.spec.Bucket; in.API != provider.S3API || a.Cloud.Cloud != provider.NoCloud {
		way = append(way, string(in.API), string(in.Login), in.Tenant, sigv4.HexDigest([]byte(a.Password)), string(a.Cloud.Cloud), a.Cloud.Namespace, a.Cloud.Account)
	}
	return fmt.Sprintf("%q", way)
}

// keep leaves out what is no file, and what the ignore rules exclude.
func (b *bucket) keep(ctx context.Context, all []object) ([]object, error) {
	files := map[string]string{}
	if b.ignore.there {
		files["."] = b.ignore.lines
	}
	if err := exclude.CheckSize(b.spec.Ignore, files); err != nil {
		return nil, transport.Failed(source.LimitExceeded, "%w", err)
	}
	rules := exclude.NewExclusions(b.spec.Ignore, files)
	out := all[:0:0]
	for _, o := range all {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if strings.HasSuffix(o.Key, "/") || o.Key == exclude.IgnoreFile || rules.File(o.Key) {
			continue
		}
		out = append(out, o)
	}
	return out, nil
}

// indexDigest is Flux's revision of a bucket: the digest of the sorted lines of key and etag.
func indexDigest(sorted []object) string {
	sum := sha256.New()
	for _, o := range sorted {
		fmt.Fprintf(sum, "%s %s\n", o.Key, o.ETag)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func etagsOf(list []object) map[string]string {
	out := make(map[string]string, len(list))
	for _, o := range list {
		out[o.Key] = o.ETag
	}
	return out
}

func newestOf(list []object) time.Time {
	var out time.Time
	for _, o := range list {
		if o.Modified.After(out) {
			out = o.Modified
		}
	}
	return out.UTC()
}
