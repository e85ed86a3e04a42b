// Package charttest answers: how does a test serve Helm charts from a repository of its own, and count what is asked of it?
//
// In: charts as files, and what the server demands of its clients.
// Out: a Helm repository over HTTP on this machine, with an index.yaml as helm repo index writes it.
// Promise: an index is served with an ETag; it ends with the test.
// Not here: charts in OCI registries (ocitest).
package charttest

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/truce-gitops/truce/internal/testing/ocitest"
)

// Repository is a Helm repository.
type Repository struct {
	Server *httptest.Server

	mu       sync.Mutex
	charts   map[string][]entry // by name
	files    map[string][]byte  // by path
	user     string
	password string
	requests []string
	made     int      // how many indexes were made; 0 for a server whose index is a file
	seen     []string // headers Authorization, of the requests that had one
}

type entry struct{ version, url, digest string }

// New starts a repository without TLS and without charts that demands nothing.
func New(t testing.TB) *Repository {
	t.Helper()
	r := &Repository{charts: map[string][]entry{}, files: map[string][]byte{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Server.Close)
	return r
}

// URL is that of the repository, as spec.url of a HelmRepository has it.
func (r *Repository) URL() string { return r.Server.URL + "/charts" }

// Demand makes the repository refuse all requests without this user and password.
func (r *Repository) Demand(user, password string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.user, r.password = user, password
}

// Push adds a version of a chart: Chart.yaml is made where the files have none.
func (r *Repository) Push(name, version string, files map[string]string) {
	r.PushAt(name, version, fmt.Sprintf("%s-%s.tgz", name, version), Package(name, version, files))
}

// PushAt adds a version whose archive the index says is at a URL. A relative one is served.
func (r *Repository) PushAt(name, version, url string, archive []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.Contains(url, "://") {
		r.files["/charts/"+url] = archive
	}
	r.charts[name] = append(r.charts[name], entry{version, url, fmt.Sprintf("%x", sha256.Sum256(archive))})
}

// MakeIndexes has the index made for each request from now on, as Gitea does: the time is another one, and there are no digests.
func (r *Repository) MakeIndexes() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = 1
}

// Put serves a file at a path below the server.
func (r *Repository) Put(path string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[path] = data
}

// Remove takes a chart out of the index.
func (r *Repository) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.charts, name)
}

// Requests returns the requests since the last call, as "GET /path STATUS".
func (r *Repository) Requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.requests
	r.requests = nil
	return out
}

// Presented reports whether a request since the start had credentials.
func (r *Repository) Presented() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.seen) > 0
}

// Package makes the archive of a chart as helm package does: its files in a directory of its name.
func Package(name, version string, files map[string]string) []byte {
	all := map[string]string{name + "/Chart.yaml": fmt.Sprintf("apiVersion: v2\nname: %s\nversion: %s\n", name, version)}
	for path, text := range files {
		all[name+"/"+path] = text
	}
	return ocitest.Archive(all)
}

// index is the index.yaml. The caller holds mu.
func (r *Repository) index() []byte {
	var b strings.Builder
	b.WriteString("apiVersion: v1\nentries:\n")
	for _, name := range slices.Sorted(maps.Keys(r.charts)) {
		fmt.Fprintf(&b, "  %s:\n", name)
		for _, e := range r.charts[name] {
			fmt.Fprintf(&b, "  - apiVersion: v2\n    created: \"2026-01-02T03:04:05.6Z\"\n")
			if r.made == 0 {
				fmt.Fprintf(&b, "    digest: %s\n", e.digest)
			}
			fmt.Fprintf(&b, "    name: %s\n    urls:\n    - %s\n    version: %s\n", name, e.url, e.version)
		}
	}
	if r.made > 0 {
		r.made++
	}
	fmt.Fprintf(&b, "generated: \"2026-01-02T03:04:05.%dZ\"\n", 6+r.made)
	return []byte(b.String())
}

// ServeHTTP answers with the index and the archives.
func (r *Repository) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := r.serve(w, q)
	r.requests = append(r.requests, fmt.Sprintf("%s %s %d", q.Method, q.URL.Path, status))
}

func (r *Repository) serve(w http.ResponseWriter, q *http.Request) int {
	if given := q.Header.Get("Authorization"); given != "" {
		r.seen = append(r.seen, given)
	}
	user, password, _ := q.BasicAuth()
	data, stored := r.files[q.URL.Path]
	if q.URL.Path == "/charts/index.yaml" && !stored {
		data, stored = r.index(), true
	}
	tag := fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(data)))
	status := http.StatusOK
	switch {
	case r.user != "" && (user != r.user || password != r.password):
		status = http.StatusUnauthorized
	case !stored:
		status = http.StatusNotFound
	case q.Header.Get("If-None-Match") == tag:
		status = http.StatusNotModified
	}
	w.Header().Set("ETag", tag)
	w.WriteHeader(status)
	if status == http.StatusOK {
		_, _ = w.Write(data) // a client that went away
	}
	return status
}
