// Package ocitest answers: how does a test push an artifact to an OCI registry of its own, and count what is asked of it?
//
// In: files, and what the registry demands of its clients.
// Out: a registry over HTTP on this machine.
// Promise: what it answers is what the OCI distribution specification says for pulls; it ends with the test.
// Not here: pushes over HTTP, deletes.
package ocitest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Registry is an OCI registry with any number of repositories.
type Registry struct {
	// Host is its address: HOST:PORT.
	Host   string
	Server *httptest.Server

	mu        sync.Mutex
	contents  map[string][]byte // by digest
	types     map[string]string // of manifests, by digest
	tags      map[string]string // digests by repository:tag
	user      string
	password  string
	tokens    bool
	elsewhere string
	requests  []string

	referrers   map[string][]any // by repository@digest
	referrersBy ReferrersBy
}

// New starts a registry without TLS that demands nothing.
func New(t testing.TB) *Registry {
	t.Helper()
	r := newRegistry()
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Server.Close)
	r.Host = strings.TrimPrefix(r.Server.URL, "http://")
	return r
}

// NewTLS starts a registry with TLS, whose certificate is Server.Certificate().
func NewTLS(t testing.TB) *Registry {
	t.Helper()
	r := newRegistry()
	r.Server = httptest.NewTLSServer(r)
	t.Cleanup(r.Server.Close)
	r.Host = strings.TrimPrefix(r.Server.URL, "https://")
	return r
}

func newRegistry() *Registry {
	return &Registry{contents: map[string][]byte{}, types: map[string]string{}, tags: map[string]string{}, referrers: map[string][]any{}}
}

// URL is that of a repository, as spec.url of an OCIRepository has it.
func (r *Registry) URL(repository string) string { return "oci://" + r.Host + "/" + repository }

// Scheme is how a registry takes credentials.
type Scheme string

// The schemes.
const (
	Basic  Scheme = "basic"
	Tokens Scheme = "tokens" // of the registry's own token server
)

// Demand makes the registry refuse all requests without this user and password.
func (r *Registry) Demand(user, password string, by Scheme) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.password, r.tokens = user, password, by == Tokens
}

// RedirectBlobs makes the registry send clients to another server for contents.
func (r *Registry) RedirectBlobs(base string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elsewhere = base
}

// Requests returns the requests since the last call, as "METHOD /path".
func (r *Registry) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.requests
	r.requests = nil
	return out
}

// Layer is one layer of an artifact.
type Layer struct {
	MediaType   string
	Data        []byte
	Annotations map[string]string
}

// FluxLayer is the media type of the layers that flux push artifact makes.
const FluxLayer = "application/vnd.cncf.flux.content.v1.tar+gzip"

// Push makes an artifact of files, as flux push artifact does, and returns the digest of its manifest.
func (r *Registry) Push(repository, tag string, files map[string]string, annotations map[string]string) string {
	return r.PushLayers(repository, tag, annotations, Layer{MediaType: FluxLayer, Data: Archive(files)})
}

// PushLayers makes an artifact of layers.
func (r *Registry) PushLayers(repository, tag string, annotations map[string]string, layers ...Layer) string {
	type m = map[string]any
	config := r.add([]byte("{}"))
	list := []any{}
	for _, l := range layers {
		list = append(list, l.descriptor(r))
	}
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	return r.PushManifest(repository, tag, manifest, m{
		"schemaVersion": 2, "mediaType": manifest, "annotations": annotations, "layers": list,
		"config": m{"mediaType": "application/vnd.cncf.flux.config.v1+json", "digest": config, "size": 2},
	})
}

func (l Layer) descriptor(r *Registry) map[string]any {
	out := map[string]any{"mediaType": l.MediaType, "digest": r.add(l.Data), "size": len(l.Data)}
	if l.Annotations != nil {
		out["annotations"] = l.Annotations
	}
	return out
}

// Attach stores a manifest of layers that refers to another one.
func (r *Registry) Attach(repository, subject, artifactType string, layers ...Layer) string {
	type m = map[string]any
	const manifest = "application/vnd.oci.image.manifest.v1+json"
	list := []any{}
	for _, l := range layers {
		list = append(list, l.descriptor(r))
	}
	data, err := json.Marshal(m{
		"schemaVersion": 2, "mediaType": manifest, "artifactType": artifactType, "layers": list,
		"config":  m{"mediaType": "application/vnd.oci.empty.v1+json", "digest": r.add([]byte("{}")), "size": 2},
		"subject": m{"mediaType": manifest, "digest": subject, "size": 0},
	})
	if err != nil {
		panic(err) // of a test's own values
	}
	digest := r.add(data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.types[digest] = manifest
	at := repository + "@" + subject
	r.referrers[at] = append(r.referrers[at], m{"mediaType": manifest, "digest": digest, "size": len(data), "artifactType": artifactType})
	return digest
}

// KeepReferrers says how the registry lists what refers to a manifest.
func (r *Registry) KeepReferrers(by ReferrersBy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.referrersBy = by
}

// ReferrersBy is how a registry lists what refers to a manifest.
type ReferrersBy string

// The ways.
const (
	API ReferrersBy = ""    // of version 1.1 of the distribution specification
	Tag ReferrersBy = "tag" // an index with a tag that is made of the digest, for older registries
)

// PushManifest stores any manifest under a tag.
func (r *Registry) PushManifest(repository, tag, mediaType string, manifest any) string {
	data, err := json.Marshal(manifest)
	if err != nil {
		panic(err) // of a test's own value
	}
	digest := r.add(data)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.types[digest] = mediaType
	r.tags[repository+":"+tag] = digest
	return digest
}

// Stat returns the type and size of a manifest.
func (r *Registry) Stat(digest string) (mediaType string, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.types[digest], len(r.contents[digest])
}

// Break changes a stored content without changing its digest.
func (r *Registry) Break(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contents[digest] = bytes.Repeat([]byte{0}, len(r.contents[digest]))
}

// Digest is the digest of a content.
func Digest(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func (r *Registry) add(data []byte) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contents[Digest(data)] = data
	return Digest(data)
}

// Archive makes a tar.gz of files.
func Archive(files map[string]string) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
			panic(err) // of a test's own names
		}
		_, _ = io.WriteString(w, content) // into memory
	}
	_, _ = w.Close(), zip.Close() // into memory
	return out.Bytes()
}
