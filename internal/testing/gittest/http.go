package gittest

import (
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// HTTPOptions say whom an HTTPServer lets in.
type HTTPOptions struct {
	Username, Password string // basic authentication, if any is set
	BearerToken        string // bearer authentication, if set
	TLS                bool   // by a CA of its own
	ClientCert         bool   // with TLS: ask for a client's certificate by the same CA
	// Hook, if set, sees each request before anything else, with its number from 1. It may block, and answers by returning true.
	Hook func(n int, w http.ResponseWriter, r *http.Request) bool
}

// HTTPServer serves one repository through git's own http-backend.
type HTTPServer struct {
	URL                   string // of the repository
	CABundle              string // PEM, with TLS
	ClientCert, ClientKey string // PEM, with ClientCert

	options  HTTPOptions
	backend  http.Handler
	requests atomic.Int64
	bytes    atomic.Int64
	hanging  atomic.Bool
}

// ServeHTTP serves r on 127.0.0.1 until the test ends.
func ServeHTTP(t testing.TB, r *Repo, o HTTPOptions) *HTTPServer {
	t.Helper()
	path, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Fatal(err)
	}
	s := &HTTPServer{options: o, backend: &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + filepath.Dir(r.Dir), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "REMOTE_USER=gittest",
		},
		Stderr: io.Discard,
	}}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = quiet
	if o.TLS {
		s.secure(t, server)
	} else {
		server.Start()
	}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL + "/" + filepath.Base(r.Dir)
	return s
}

func (s *HTTPServer) secure(t testing.TB, server *httptest.Server) {
	t.Helper()
	ca := newAuthority(t)
	s.CABundle = ca.bundle
	cert, key := ca.issue(t, "127.0.0.1")
	pair, err := tls.X509KeyPair([]byte(cert), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	if s.options.ClientCert {
		s.ClientCert, s.ClientKey = ca.issue(t, "client")
		server.TLS.ClientAuth, server.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		server.TLS.ClientCAs.AppendCertsFromPEM([]byte(ca.bundle))
	}
	server.StartTLS()
}

// Requests is the number of requests until now.
func (s *HTTPServer) Requests() int { return int(s.requests.Load()) }

// Bytes is the size of all bodies until now, in both directions.
func (s *HTTPServer) Bytes() int64 { return s.bytes.Load() }

// Hang makes each later request wait until its client gives up.
func (s *HTTPServer) Hang() { s.hanging.Store(true) }

// ServeHTTP implements http.Handler.
func (s *HTTPServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n := s.requests.Add(1)
	if s.hanging.Load() {
		_, _ = io.Copy(io.Discard, r.Body) // net/http sees that a client has gone once it has read all
		<-r.Context().Done()
		return
	}
	if s.options.Hook != nil && s.options.Hook(int(n), w, r) {
		return
	}
	if !s.admits(r) {
		w.Header().Set("WWW-Authenticate", `Basic realm="gittest"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	r.Body = &countedBody{r.Body, &s.bytes}
	s.backend.ServeHTTP(&countedWriter{w, &s.bytes}, r)
}

func (s *HTTPServer) admits(r *http.Request) bool {
	o := s.options
	if o.BearerToken != "" {
		return same(r.Header.Get("Authorization"), "Bearer "+o.BearerToken)
	}
	if o.Username == "" && o.Password == "" {
		return true
	}
	user, password, ok := r.BasicAuth()
	return ok && same(user, o.Username) && same(password, o.Password)
}

func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

type countedBody struct {
	io.ReadCloser
	total *atomic.Int64
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.total.Add(int64(n))
	return n, err
}

type countedWriter struct {
	http.ResponseWriter
	total *atomic.Int64
}

func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.total.Add(int64(n))
	return n, err
}
