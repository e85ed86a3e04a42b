// Package s3test answers: how does a test put objects into an S3-compatible object storage of its own, and count what is asked of it?
//
// In: objects, credentials, and faults that the storage has from then on.
// Out: an object storage over HTTP on this machine, with one bucket, and a service that gives temporary credentials to a user of LDAP.
// Promise: a request is served only if its signature of version 4 is that of the credentials, as the documentation of Amazon S3 computes it; lists come
// in pages; it ends with the test.
// Not here: writes over HTTP, other versions of signatures.
package s3test

import (
	"crypto/md5"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Storage is an object storage with one bucket.
type Storage struct {
	// Host is its address: HOST:PORT.
	Host   string
	Server *httptest.Server

	mu       sync.Mutex
	objects  map[string]stored
	keys     keys
	user     string // of LDAP
	password string
	given    int // how often credentials were given
	region   string
	pageSize int
	fault    *fault
	stalled  chan struct{} // closed when the requests that are held may go on
	requests []string
}

// Bucket is the name of the one bucket.
const Bucket = "files"

type stored struct {
	data []byte
	etag string
	made time.Time
}

type keys struct{ access, secret, token string }

type fault struct {
	path   string // of the requests that have it; empty for all
	status int
	body   string
	cut    int // after so many bytes of an object
}

// New starts a storage without TLS that demands nothing.
func New(t testing.TB) *Storage {
	t.Helper()
	s := newStorage(t)
	s.Server = httptest.NewServer(s)
	s.begin(t, "http://")
	return s
}

// NewTLS starts a storage with TLS, whose certificate is Server.Certificate().
func NewTLS(t testing.TB) *Storage {
	t.Helper()
	s := newStorage(t)
	s.Server = httptest.NewTLSServer(s)
	s.begin(t, "https://")
	return s
}

func newStorage(t testing.TB) *Storage {
	s := &Storage{objects: map[string]stored{}, pageSize: 1000, region: "us-east-1"}
	t.Cleanup(func() { s.Server.Close() })
	return s
}

func (s *Storage) begin(t testing.TB, scheme string) {
	s.Host = strings.TrimPrefix(s.Server.URL, scheme)
	t.Cleanup(s.Resume) // before the server is closed, which waits for its requests
}

// Put stores an object.
func (s *Storage) Put(key, content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = stored{[]byte(content), fmt.Sprintf("%x", md5.Sum([]byte(content))), time.Date(2026, 1, 2, 3, 4, len(s.objects), 0, time.UTC)}
}

// PutTagged stores an object with an etag of the test.
func (s *Storage) PutTagged(key, content, etag string) {
	s.Put(key, content)
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.objects[key]
	o.etag = etag
	s.objects[key] = o
}

// Remove removes an object.
func (s *Storage) Remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

// Demand makes the storage refuse all requests that these keys have not signed. Empty ones demand nothing.
func (s *Storage) Demand(access, secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys{access: access, secret: secret}
}

// Admit makes the storage refuse all requests that are not signed with the newest keys that this user of LDAP was given.
func (s *Storage) Admit(user, password string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user, s.password, s.keys = user, password, keys{access: "none", secret: "none"}
}

// Given returns how often temporary credentials were given.
func (s *Storage) Given() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given
}

// Move puts the bucket into another region.
func (s *Storage) Move(region string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.region = region
}

// Pages sets how many objects a page of a list has at most.
func (s *Storage) Pages(size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = size
}

// Fail answers requests whose path ends so with a status and a body; 0 ends that.
func (s *Storage) Fail(path string, status int, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault = nil; status != 0 {
		s.fault = &fault{path: path, status: status, body: body}
	}
}

// Cut ends the answers with the object at a path after so many bytes.
func (s *Storage) Cut(path string, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = &fault{path: path, cut: after, status: 200}
}

// Stall holds all requests until Resume or the end of the test.
func (s *Storage) Stall() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stalled = make(chan struct{})
}

// Resume lets requests go on.
func (s *Storage) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled != nil {
		close(s.stalled)
		s.stalled = nil
	}
}

// Requests returns the requests since the last call, as "METHOD /path", with "?list" for a page of a list.
func (s *Storage) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.requests
	s.requests = nil
	return out
}

// DemandKeys is Demand for keys of a session.
func (s *Storage) DemandKeys(k Keys) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys = keys{k.Access, k.Secret, k.Token}
}
